. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
expect_exit 1 "$GPUREADY" test --device cpu --only memory --level quick --inject stuck --json=j --html h --md m --prom p
for file in h m p; do grep -qi "injected" $file || die "$file does not tell"; done
expect_in "injected on purpose" "$out"
jq -e '.verdicts | all(.injected_fault == "stuck")' j >/dev/null || die "$(cat j)"
