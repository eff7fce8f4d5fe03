. "$LIB"
runs() { "$(dirname "$LIB")/bench_runs.py" bench-results "$@"; }
rm -rf bench-results
runs one 0 2 1000 1003 998 1001 1002 '1000'
STACK='<b>x</b>' runs two 20 2 1100
expect_exit 0 "$GPUREADY" bench report one --html report.html --md report.md
expect_in "gpuready is the fastest of 1 stack in the last of 6 runs" "$out"
[ -z "$(awk 'length($0) > 80' <<<"$out")" ] || die "wider than 80 columns: $out"
html=$(cat report.html)
expect_in "<svg" "$html"
expect_in "GPU: NVIDIA H200 GPU-1" "$html"
expect_not_in "http://" "$html"
expect_not_in "src=" "$html"
expect_in "| gpuready |" "$(cat report.md)"
expect_in "history" "$(cat report.md)"
# Names are text, whatever they hold; without a name it is the last run.
expect_exit 0 "$GPUREADY" bench report --html report.html
expect_in "&lt;b&gt;x" "$(cat report.html)"
expect_not_in "<b>x</b>" "$(cat report.html)"
expect_exit 2 "$GPUREADY" bench report nothing
