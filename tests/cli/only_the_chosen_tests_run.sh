. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
expect_exit 0 "$GPUREADY" test --device cpu --only memory --level quick --json -
[ "$(echo "$out" | jq -r '[.verdicts[].test] | unique | join(" ")')" = memory ] || die "$out"
expect_exit 2 "$GPUREADY" test --only memroy
expect_in "memroy" "$err"
expect_exit 2 "$GPUREADY" test --level deep
expect_exit 2 "$GPUREADY" test --duration 0
