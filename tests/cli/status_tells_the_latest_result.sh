. "$LIB"
ready_gpu
rm -f state state.lock
status() { expect_exit "$1" "$GPUREADY" status --state state "${@:2}"; }
status 4
[ "$out" = "never tested: run gpuready check" ] || die "$out"
if [ ! -e /var/lib/gpuready ]; then  # where check would keep nothing
  expect_exit 4 "$GPUREADY" status
  [ "$out" = "never tested: run mkdir /var/lib/gpuready, then gpuready check" ] || die "$out"
fi
check() { expect_exit "$1" "$GPUREADY" check --state state "${@:2}"; }
check 0
status 0
expect_in "good: 1 GPU, level quick," "$out"
status 0 --json
[ "$(jq -r '.standing, .results[0].standing, .results[0].level, .exit_code' <<<"$out" | xargs)" = "good good quick 0" ] || die "$out"
sleep 1.2
status 4 --valid 1
expect_in "expired: " "$out"
# What proves nothing about this machine is not kept.
before=$(sha256sum state)
check 1 --device cpu --inject bitflip
check 4 --device cpu --replay "$MACHINES/no-gpu/machine.json"
[ "$before" = "$(sha256sum state)" ] || die "such a result was kept"
# Nor is what a fake driver answers, as the machine's own status.
namespace=(unshare --mount --propagation private)
"${namespace[@]}" true 2>/dev/null || namespace+=(--user --map-root-user)
if "${namespace[@]}" true 2>/dev/null; then
  own() {  # own COMMAND...: with a /var/lib/gpuready that is empty, and listed then
    "${namespace[@]}" sh -c 'mount -t tmpfs none /var/lib && mkdir /var/lib/gpuready && code=0 && { "$@" || code=$?; } &&
      ls /var/lib/gpuready && exit $code' sh "$@"
  }
  expect_exit 0 own env -u GPUREADY_LIBNVML -u GPUREADY_LIBCUDA "$GPUREADY" check --device cpu
  expect_in results.json "$out"
  expect_exit 0 own "$GPUREADY" check
  expect_not_in results.json "$out"
  expect_in "and GPUREADY_LIBCUDA=$GPUREADY_LIBCUDA, GPUREADY_LIBNVML=$GPUREADY_LIBNVML was asked instead" "$err"
  expect_exit 2 own "$GPUREADY" check --state /var/lib/gpuready/results.json
  expect_not_in "results.json" "$out"
fi
# A GPU that is much slower than its clock, and what clears it.
FAKE_CUDA=${FAKE_CUDA/mhz=1/mhz=1980} check 1
status 1
expect_in "bad: GPU 0," "$out"
[ "$(printf %s "$out" | wc -c)" -le 80 ] || die "too long: $out"
sed -i 's/"level": "quick"/"level": "standard"/' state
check 0
status 1
sed -i 's/"boot_id": "[0-9a-f]*"/"boot_id": "00000000000000000000000000000000"/' state
status 4
expect_in "retest: GPU 0 was bad; run gpuready test --level standard" "$out"
# A place that cannot be written is reported before the test.
expect_exit 2 "$GPUREADY" check --device cpu --state none/state
expect_in "--state none/state: cannot write in none: No such file or directory" "$err"
expect_exit 2 "$GPUREADY" check --device cpu --state -
expect_in "--state -: it is not a file" "$err"
# No one else's file, and no other document.
echo '{"schema": "gpuready.report"}' >state
status 2
check 2 --device cpu
expect_in "does not hold results" "$err"
expect_not_in "CPU" "$out"  # no test ran
[ "$(cat state)" = '{"schema": "gpuready.report"}' ] || die "it was replaced"
: >state
status 2
expect_in "; delete it" "$err"
