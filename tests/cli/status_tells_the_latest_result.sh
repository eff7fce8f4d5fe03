. "$LIB"
ready_gpu
rm -f state state.lock
status() { expect_exit "$1" "$GPUREADY" status --state state "${@:2}"; }
status 4
[ "$out" = "never tested: run gpuready check" ] || die "$out"
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
