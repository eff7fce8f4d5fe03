. "$LIB"
rm -rf nodes
"$SOURCE/tests/fleet/nodes.py" "$GPUREADY" nodes 3
# merged COMMAND [NODES]
merged() {
  expect_exit 0 sh -c "$1 | '$GPUREADY' fleet merge --nodes ${2:-n1,n2,n3}"
  expect_in "3 nodes: 3 ready." "$out"
}
merged "cat nodes/n1.json nodes/n2.json nodes/n3.json"
merged "jq -c . nodes/*.json"
# Without labels what is mixed is unknown, never fine.
expect_exit 4 sh -c "paste -d '\\n' nodes/*.json | '$GPUREADY' fleet merge --nodes n1,n2,n3"
expect_in "3 nodes: 0 ready, 3 unknown, 3 reports not read." "$out"
expect_in "srun mixes reports unless it has -l." "$(tr -s '\n ' ' ' <<<"$out")"
# srun -l, with lines that interleave; clush and pdsh; kubectl logs --prefix.
merged 'paste -d "\n" nodes/*.json | awk "NF { print (NR - 1) % 3 \": \" \$0 }"'
merged 'for n in 1 2 3; do sed "s/^/node$n: /" nodes/n$n.json; done' node1,node2,node3
merged 'for n in 1 2 3; do sed "s/^/[pod\/check-$n\/gpuready] /" nodes/n$n.json; done'
# The transport's name of a node counts more than what the node says.
expect_exit 0 sh -c "sed 's/^/login1: /' nodes/n1.json | '$GPUREADY' fleet merge --nodes login1"
expect_in "login1 calls itself n1." "$out"
# A job that died costs its node only.
head -40 nodes/n2.json >cut.json
expect_exit 4 sh -c "cat nodes/n1.json cut.json nodes/n3.json | '$GPUREADY' fleet merge --nodes n1,n2,n3"
expect_in "n2: It did not report." "$out"
expect_in "a report is broken: it ends too early" "$out"
