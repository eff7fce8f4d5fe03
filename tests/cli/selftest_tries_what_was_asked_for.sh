. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
# A child that dies has tried nothing, and the row says which case it was.
printf '#!/bin/sh\nkill -SEGV $$\n' >dies; chmod +x dies
export GPUREADY_HELPER=$PWD/dies
cases() {
  expect_exit 4 "$GPUREADY" selftest --device cpu --trials 5 "$@" --json -
  jq -e 'all(.rows[]; .trials == 0 and .detected == 0 and .status == "inconclusive" and .subject == "the host" and
    .executor == "cpu" and (has("placed") | not) and (.reason | contains("SIGSEGV")))' <<<"$out" >/dev/null || die "$out"
  jq -r '.rows[] | "\(.test) \(.fault // "clean") \(.faults // 0)"' <<<"$out" | sort -u | paste -sd,
}
expect_cases() {
  local want=$1 got
  shift
  got=$(cases "$@") || die "$got"
  [ "$got" = "$want" ] || die "selftest $*: $got instead of $want"
}
expect_cases "memory stuck 1,memory stuck 1000" --only memory --inject stuck
expect_cases "memory clean 0" --only memory --inject none
expect_cases "compute clean 0,memory clean 0,memory stuck 1,memory stuck 1000" --only memory,compute --inject stuck,none
[ "$(cases --only memory | tr , '\n' | cut -d' ' -f1 | sort -u)" = memory ] || die "other tests than memory"
[ "$(cases --inject none | tr , '\n' | cut -d' ' -f2 | sort -u)" = clean ] || die "other faults than none"
[ "$(cases | tr , '\n' | wc -l)" -gt "$(cases --only memory | tr , '\n' | wc -l)" ] || die "not all tests"
