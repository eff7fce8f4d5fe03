. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
expect_exit 0 "$GPUREADY" selftest --device cpu --trials 25 --inject none --json -
echo "$out" | jq -e 'all(.rows[]; .false_alarms == 0 and .trials == 25)' >/dev/null || die "$out"
