. "$LIB"
runs() { "$(dirname "$LIB")/bench_runs.py" bench-results "$@"; }
rm -rf bench-results
runs base 0 2 1000 1003 998 1001 999 1002
runs fast 1 2 952 951 954 950 953 952
runs slow 1 2 1052 1051 1054 1050 1053 1052
runs noisy 1 2 900 1100 950 1020 990 1060
expect_exit 0 "$GPUREADY" bench compare base fast
expect_in "fast is faster than base" "$out"
expect_in "better in p50, p95, throughput" "$out"
[ -z "$(awk 'length($0) > 80' <<<"$out")" ] || die "wider than 80 columns: $out"
expect_exit 1 "$GPUREADY" bench compare base slow
expect_in "slow is slower than base" "$out"
expect_exit 4 "$GPUREADY" bench compare base noisy
expect_in "more runs a side would decide" "$out"
# However wide an interval is, it is shown, and the verdict is whole.
runs wild 1 2 12008 995000 10100 99000 1003 1100
for columns in 80 100; do
  COLUMNS=$columns expect_exit 4 "$GPUREADY" bench compare base wild
  expect_in "interval  verdict" "$out"
  expect_in "  inconclusive" "$out"
  [ -z "$(awk -v most=$columns 'length($0) > most' <<<"$out")" ] || die "wider than $columns columns: $out"
done
[ -n "$(awk 'length($0) > 80' <<<"$out")" ] || die "COLUMNS does not count: $out"
rm bench-results/*__wild.json
expect_exit 0 "$GPUREADY" bench compare base fast --json - --md fast.md
expect_in '"schema": "gpuready.bench-compare"' "$out"
expect_in '"method": "trend_adjusted_t"' "$out"
expect_in "| p50 |" "$(cat fast.md)"
# One run a side, by its file: nothing is known of run-to-run variation.
expect_exit 4 "$GPUREADY" bench compare bench-results/base-0__base.json fast-0
expect_in "run-to-run variation" "$out"
# Two a side, one side after the other: figures, and no gain that a drift would explain as well.
runs early 0 1 50090 43000
runs late 100 1 48260 48000
expect_exit 4 "$GPUREADY" bench compare early late --json=blocks.json
expect_in "inconclusive" "$out"
expect_in "2 and 2 runs, one side after the other" "$out"
expect_not_in "%" "$out"
expect_not_in "more runs a side would decide" "$out"
expect_not_in '"gain_percent"' "$(cat blocks.json)"
rm bench-results/*__early.json bench-results/*__late.json
expect_exit 2 "$GPUREADY" bench compare base nothing
expect_in "tags there: base, fast, noisy, slow" "$err"
