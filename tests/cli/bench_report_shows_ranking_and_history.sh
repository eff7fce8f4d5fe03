. "$LIB"
runs() { "$(dirname "$LIB")/bench_runs.py" bench-results "$@"; }
rm -rf bench-results
runs one 0 2 1000 1003 998 1001 1002 '1000'
STACK='<b>x</b>' runs two 20 2 1100
expect_exit 0 "$GPUREADY" bench report one --html report.html --md report.md
expect_in "gpuready: 1.000 us for mlp" "$out"
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
# Nor is it markup in Markdown: of the history, of a ranking, of what a stack says.
expect_exit 0 "$GPUREADY" bench report two --md report.md
expect_in "| &lt;b&gt;x&lt;/b&gt; |" "$(cat report.md)"
expect_not_in "<b>" "$(cat report.md)"
python3 - <<'END'
import glob, json
path = glob.glob("bench-results/*__two.json")[0]
doc = json.load(open(path))
doc["run"]["stacks"].append({"id": "bad", "status": "error", "reason": "<script>|x\n# [red](u) `b` *i* a_b"})
json.dump(doc, open(path, "w"))
END
expect_exit 0 "$GPUREADY" bench report two --md report.md
expect_in '- bad: error: &lt;script&gt;\|x \# \[red\](u) \`b\` \*i\* a\_b' "$(cat report.md)"
STACK='a|b_c' runs left 40 2 1000 1001
STACK='a|b_c' VARIABLE='X=<i>' runs right 41 2 1000 1001
expect_exit 4 "$GPUREADY" bench compare left right --md compare.md
expect_in '## a\|b\_c' "$(cat compare.md)"
expect_in 'X: not set against "&lt;i&gt;"' "$(cat compare.md)"
expect_exit 2 "$GPUREADY" bench report nothing
