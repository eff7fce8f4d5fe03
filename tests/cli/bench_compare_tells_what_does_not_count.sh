. "$LIB"
runs() { "$(dirname "$LIB")/bench_runs.py" bench-results "$@"; }
rm -rf bench-results
runs base 0 4 1000 1003 998 1001 999
runs fast 1 4 952 951 954 950 953
# One run of five failed, and of another two repeats of three.
/usr/bin/python3 - <<'P'
import json
def change(name, edit):
    path = f"bench-results/{name}__fast.json"
    document = json.load(open(path))
    edit(document["run"]["stacks"][0])
    json.dump(document, open(path, "w"))
def fail_run(stack):
    stack.update(status="error", reason="signal 11")
    stack["repeats"][0].update(status="error", reason="signal 11")
def fail_repeats(stack):
    bad = dict(stack["repeats"][0], status="error", reason="exit code 9")
    stack["repeats"] += [bad, bad]
change("fast-1", fail_run)
change("fast-3", fail_repeats)
P
expect_exit 0 "$GPUREADY" bench compare base fast --json json --md md
for text in "$out" "$(cat md)"; do
  expect_in "candidate: 1 of 5 runs of gpuready failed: signal 11" "$text"
  expect_in "candidate: 2 of 7 repeats of gpuready failed: exit code 9" "$text"
done
expect_in '"lost_runs": 1' "$(cat json)"
expect_in '"lost_repeats": 3' "$(cat json)"
expect_exit 1 "$GPUREADY" bench promote base fast
expect_in "Reject fast: candidate: 1 of 5 runs of gpuready failed: signal 11" "$out"
expect_exit 4 "$GPUREADY" bench promote fast base
expect_exit 0 "$GPUREADY" bench report fast --html html --md md
expect_in "2 of 3 repeats of gpuready failed: exit code 9" "$out"
expect_in "2 of 3 repeats of gpuready failed: exit code 9" "$(cat html)"
expect_in "2 of 3 repeats of gpuready failed: exit code 9" "$(cat md)"
