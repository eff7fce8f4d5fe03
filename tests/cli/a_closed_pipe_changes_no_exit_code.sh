. "$LIB"
# A reader that has seen enough, as head has, is gone before the first byte is written. Whatever the command found stands.
same_without_a_reader() { # CODE ARGUMENTS...
  local want=$1 got=0
  shift
  expect_exit "$want" "$GPUREADY" "$@"
  { sleep 0.1; "$GPUREADY" "$@" </dev/null 2>stderr.txt || got=$?; echo "$got" >status.txt; } | true
  [ "$(cat status.txt)" = "$want" ] || die "exit $(cat status.txt) instead of $want: $*"
  expect_not_in "cannot write" "$(cat stderr.txt)"
}
well=$MACHINES/base-hgx-h100x8/machine.json sick=$MACHINES/xid-62/machine.json
for form in "" "--json -" "--html -" "--md -" "--prom -"; do
  # shellcheck disable=SC2086
  same_without_a_reader 0 doctor --replay "$well" $form
  # shellcheck disable=SC2086
  same_without_a_reader 1 doctor --replay "$sick" $form
done
same_without_a_reader 3 doctor --replay "$well" --require-gpu=9
same_without_a_reader 0 detect --replay "$sick" --json
same_without_a_reader 4 check --replay "$well"  # nothing is tested on a recording
same_without_a_reader 1 gpu-test --replay "$sick"
same_without_a_reader 0 vm list --replay "$well" --json
same_without_a_reader 0 pack inspect "$GPUREADY"
same_without_a_reader 0 --help
same_without_a_reader 0 version
same_without_a_reader 2 nonsense
