. "$LIB"
sick=$MACHINES/xid-62/machine.json well=$MACHINES/base-hgx-h100x8/machine.json
# A report that is lost: 2, unless the report is of something unhealthy.
expect_exit 2 "$GPUREADY" doctor --replay "$well" --json=/dev/full
expect_in "gpuready: cannot write to /dev/full: No space left on device" "$err"
expect_exit 1 "$GPUREADY" doctor --replay "$sick" --json=/dev/full
expect_exit 2 sh -c '"$0" doctor --replay "$1" >/dev/full' "$GPUREADY" "$well"
expect_in "cannot write to standard output" "$(cat stderr.txt)"
expect_exit 1 sh -c '"$0" doctor --replay "$1" >/dev/full' "$GPUREADY" "$sick"
# So is help, and what goes to a standard output that is closed.
for command in --version --help "doctor --help" help; do
  expect_exit 2 sh -c '"$0" $1 >/dev/full' "$GPUREADY" "$command"
  expect_in "gpuready: cannot write to standard output: No space left on device" "$err"
  expect_exit 2 sh -c '"$0" $1 >&-' "$GPUREADY" "$command"
done
for form in --json ""; do
  expect_exit 2 sh -c '"$0" doctor --replay "$1" $2 >&-' "$GPUREADY" "$well" "$form"
  expect_in "gpuready: cannot write to standard output" "$err"
  expect_exit 1 sh -c '"$0" doctor --replay "$1" $2 >&-' "$GPUREADY" "$sick" "$form"
done
expect_exit 0 sh -c '"$0" record recording.tar.zst -q --timeout 5 >&- <&-' "$GPUREADY"
expect_exit 0 sh -c '"$0" --version 2>&-' "$GPUREADY"
expect_exit 0 sh -c '{ sleep 0.2; "$0" --help; } | true' "$GPUREADY"
# A reader that has seen enough is no failure. It is gone before the first byte is written.
for machine in "$well:0" "$sick:1"; do
  for target in - /dev/stdout /dev/fd/1 /dev/fd/7; do
    status=0
    { sleep 0.2; "$GPUREADY" doctor --replay "${machine%:*}" --json="$target" 2>stderr.txt 7>&1 || status=$?
      echo "$status" >status.txt; } | true
    [ "$(cat status.txt)" = "${machine#*:}" ] || die "exit $(cat status.txt) with $target"
    [ ! -s stderr.txt ] || die "a message: $(cat stderr.txt)"
  done
done
# An open descriptor is written to as it is, sockets too; one that is not open is refused before any work.
"$GPUREADY" doctor --replay "$well" --json=/dev/fd/9 9>nine.json >/dev/null
jq -e '.command == "doctor"' nine.json >/dev/null
expect_exit 2 "$GPUREADY" doctor --replay "$well" --json=/dev/fd/77
expect_in "descriptor 77 is not open" "$err"
[ -z "$out" ] || die "the work was done: $out"
# What stands under /dev and is a plain file is written whole, not appended to.
shm=/dev/shm/gpuready-test-$$.json
[ -w /dev/shm ] || skip "no /dev/shm here"
trap 'rm -f "$shm"' EXIT
for again in 1 2; do
  "$GPUREADY" doctor --replay "$well" --json="$shm" >/dev/null
  [ "$(jq -s length "$shm")" = 1 ] || die "more than one document in $shm"
done
