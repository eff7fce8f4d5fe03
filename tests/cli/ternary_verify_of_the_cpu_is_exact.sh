. "$LIB"
expect_exit 0 "$GPUREADY" ternary verify --device cpu --seed 5
expect_in "[ok]  cpu/scalar" "$out"
expect_in "agree" "$out"
[ -z "$(awk 'length($0) > 80' <<<"$out")" ] || die "wider than 80 columns: $out"
expect_exit 0 "$GPUREADY" ternary verify --tier scalar --json -
[ "$(python3 -c 'import json,sys; d=json.load(sys.stdin); print(d["schema"], d["exit_code"], len(d["checks"]))' <<<"$out")" = "gpuready.ternary-verify 0 9" ] || die "$out"
