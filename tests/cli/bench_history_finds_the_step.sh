. "$LIB"
runs() { "$(dirname "$LIB")/bench_runs.py" bench-results "$@"; }
rm -rf bench-results
COMMIT=aaaa runs before 0 1 1000 1003 998 1001 999 1002
COMMIT=bbbb runs after 10 1 1102 1101 1104 1100
expect_exit 0 "$GPUREADY" bench history --kpi p50
expect_in "-9.17%: 1.000 us to 1.101 us from run after-0, commit bbbb" "$out"
[ -f bench-results/history.json ] || die "no index was written"
expect_exit 0 "$GPUREADY" bench history --json - --md history.md
expect_in '"schema": "gpuready.bench-history"' "$out"
expect_in '"added": 0' "$(sed 's/  *"added"/ "added"/' <<<"$out")"
expect_in "# Benchmark history" "$(cat history.md)"
# A run that was deleted is no point any more.
rm bench-results/after-3__after.json
expect_exit 0 "$GPUREADY" bench history --kpi p50
expect_in "9 runs, 1 series" "$out"
# One that is damaged is left out and told by name, with an index and without; the others count.
echo '{"schema": "gpuready.ben' >bench-results/after-2__after.json
for _ in with without; do
  expect_exit 0 "$GPUREADY" bench history --kpi p50 --json=history.json
  expect_in "after-2__after.json is left out" "$out"
  expect_in "8 runs, 1 series" "$out"
  expect_in "after-2__after.json is left out" "$(cat history.json)"
  rm bench-results/history.json
done
expect_exit 0 "$GPUREADY" bench report before --md report.md
expect_in "is left out" "$out"
expect_exit 2 "$GPUREADY" bench history --results nowhere
# Results of other programs are compared like ours.
cat >a.json <<'J'
{"context": {"date": "2024-05-01T14:00:00+02:00", "executable": "bm"}, "benchmarks": [
 {"name": "A", "run_type": "iteration", "real_time": 12.5, "cpu_time": NaN, "time_unit": "us"}]}
J
sed 's/12.5/25/; s/14:00/14:01/' a.json >b.json
expect_exit 4 "$GPUREADY" bench compare a.json b.json
expect_in "-50.0%" "$out"
