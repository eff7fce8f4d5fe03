. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
expect_exit 0 "$GPUREADY" selftest --device cpu --trials 25 --inject bitflip,stuck,dropped-write,alias,coupling --json -
echo "$out" | jq -e '[.rows[] | select(.test == "memory" and .faults == 1)] | length == 5' >/dev/null || die "not five classes: $out"
echo "$out" | jq -e 'all(.rows[]; .detected == .trials and .placed == .trials)' >/dev/null || die "missed: $out"
echo "$out" | jq -e 'any(.rows[]; .faults == 1000)' >/dev/null || die "no thousand faults at once: $out"
