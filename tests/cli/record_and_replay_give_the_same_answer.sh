. "$LIB"
expect_exit 0 "$GPUREADY" record here.tar.zst
"$GPUREADY" doctor --json=live.json >/dev/null || true
"$GPUREADY" doctor --replay here.tar.zst --json=replay.json >/dev/null || true
for f in live replay; do jq -S '{f: .findings, g: .machine.gpus, n: .machine.nvidia, v: [.machine.visibility, .machine.toolkits]}' $f.json >$f.txt; done
diff live.txt replay.txt || die "the replay differs from the machine"
