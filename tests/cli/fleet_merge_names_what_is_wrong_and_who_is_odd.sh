. "$LIB"
rm -rf nodes
"$SOURCE/tests/fleet/nodes.py" "$GPUREADY" nodes 16 n3:off-the-bus n4:off-the-bus n5:driver n6:slow n7:seven n8:none \
  n9:doctor n10:undetermined
expect_exit 1 "$GPUREADY" fleet merge nodes --nodes 'n[1-17]' --json=fleet.json
expect_in "n[3-4]: GPU 3: The GPU fell off the bus. Action: power cycle." "$out"
expect_in "2 nodes (n[3-4]): The GPU fell off the bus" "$out"
expect_in "n5: NVIDIA driver: 535.104.05; 15 of 16 siblings: 580.95.05" "$out"
expect_in "n6 GPU 2: bandwidth: dram copy 2.61 TB/s" "$out"
expect_in "n7: It has 7 GPUs; 14 of its 15 siblings have more." "$out"
expect_in "n8: It has 0 GPUs; 15 of its 15 siblings have more." "$out"
expect_in "n9: Not tested." "$out"
expect_in "n17: It did not report." "$out"
expect_in "17 nodes: 10 ready, 4 bad, 2 unknown, 1 not tested." "$out"
expect_in "1 4 2 1" "$(jq -r '"\(.exit_code) \(.fleet.bad) \(.fleet.unknown) \(.fleet.slow | length)"' fleet.json)"
# Healthy ones differ in nothing, and a node that is silent is unknown.
"$SOURCE/tests/fleet/nodes.py" "$GPUREADY" nodes 16
expect_exit 0 "$GPUREADY" fleet merge nodes
[ "$out" = "[ok] 16 nodes: 16 ready." ] || die "$out"
expect_exit 4 "$GPUREADY" fleet merge nodes --nodes n[1-17]
expect_exit 4 "$GPUREADY" fleet merge /dev/null
# The worst of a node's GPUs is named; where no node has a GPU, none has lost one.
rm -r nodes
"$SOURCE/tests/fleet/nodes.py" "$GPUREADY" nodes 1 n1:several
expect_exit 1 "$GPUREADY" fleet merge nodes
expect_in "n1: GPU 1 is not ready: reason 1." "$out"
"$SOURCE/tests/fleet/nodes.py" "$GPUREADY" nodes 1 n1:several-unknown
expect_exit 4 "$GPUREADY" fleet merge nodes
expect_in "n1: GPU 0 is unknown: reason 0." "$out"
"$SOURCE/tests/fleet/nodes.py" "$GPUREADY" nodes 1 n1:busy-without-port
expect_exit 0 "$GPUREADY" fleet merge nodes
expect_in "n1: A network port is down. GPU 0 is in use: reason 0. Action: replace." "$out"  # not the GPU
"$SOURCE/tests/fleet/nodes.py" "$GPUREADY" nodes 3 n1:none n2:none n3:none
expect_exit 0 "$GPUREADY" fleet merge nodes
expect_in "3 nodes: 0 ready, 3 without a GPU." "$out"
expect_exit 2 "$GPUREADY" fleet merge nowhere
