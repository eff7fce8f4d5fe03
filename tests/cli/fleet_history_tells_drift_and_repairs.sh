. "$LIB"
rm -rf nodes history*
fleet() { "$SOURCE/tests/fleet/nodes.py" "$GPUREADY" nodes 6 "$@"; }
merge() { "$GPUREADY" fleet merge nodes --history history.jsonl "$@"; }
fleet n2:off-the-bus n3:off-the-bus
expect_exit 1 merge
sleep 1.1  # a report of the same second is not newer
fleet n2:doctor n4:vbios
rm nodes/n5.json
expect_exit 4 merge
expect_in "n2: It was bad on" "$out"
expect_in "no test has passed since: GPU 3: The GPU fell off the bus" "$(tr -s '\n ' ' ' <<<"$out")"
expect_in "n3: bad since" "$out"
expect_in "ready by a test of" "$(tr -s '\n ' ' ' <<<"$out")"
expect_in "n4 GPU 1: VBIOS: 96.00.99.00.01, before:" "$out"
expect_in "n5: It did not report." "$out"
# What left the fleet is missed no more, and nothing is reported twice.
sleep 1.1
fleet n4:vbios
rm nodes/n5.json
expect_exit 0 merge --forget n5
expect_not_in "VBIOS: 96.00.99.00.01, before" "$out"
expect_exit 2 merge --forget n5
# A rate that falls below the node's own.
for _ in 1 2 3 4; do sleep 1.1; fleet n4:vbios; rm nodes/n5.json; expect_exit 0 merge; done
sleep 1.1
fleet n4:vbios n6:slow
rm nodes/n5.json
expect_exit 0 merge
expect_in "of its own history" "$(tr -s '\n ' ' ' <<<"$out")"
echo damaged >history.jsonl
expect_exit 2 merge
expect_in "Move it away" "$err"
