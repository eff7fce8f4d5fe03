. "$LIB"
runs() { "$(dirname "$LIB")/bench_runs.py" bench-results "$@"; }
rm -rf bench-results
runs base 0 4 1000 1003 998 1001 999
runs fast 1 4 952 951 954 950 953 952
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
expect_exit 0 "$GPUREADY" bench compare base fast --json=json --md md
for text in "$out" "$(cat md)"; do
  expect_in "candidate: 1 of 6 runs of gpuready failed: signal 11" "$text"
  expect_in "candidate: 2 of 8 repeats of gpuready failed: exit code 9" "$text"
done
expect_in '"lost_runs": 1' "$(cat json)"
expect_in '"lost_repeats": 3' "$(cat json)"
expect_exit 1 "$GPUREADY" bench promote base fast
expect_in "Reject fast: candidate: 1 of 6 runs of gpuready failed: signal 11" "$out"
expect_exit 4 "$GPUREADY" bench promote fast base
expect_exit 0 "$GPUREADY" bench report fast --html html --md md
expect_in "3 of 8 repeats of gpuready failed: signal 11" "$out"
expect_in "3 of 8 repeats of gpuready failed: signal 11" "$(cat html)"
expect_in "3 of 8 repeats of gpuready failed: signal 11" "$(cat md)"
# A stack that every run of the candidate fails, and one that is not there any more.
runs whole 0 4 1000 1003 998 1001 999
runs failing 1 4 900 902 899 901 898
/usr/bin/python3 - <<'P'
import copy, glob, json
for path in glob.glob("bench-results/*__whole.json") + glob.glob("bench-results/*__failing.json"):
    document = json.load(open(path))
    stacks = document["run"]["stacks"]
    stacks.append(dict(copy.deepcopy(stacks[0]), id="tvm"))
    if "failing" in path:
        stacks[1].update(status="error", reason="signal 11")
    json.dump(document, open(path, "w"))
P
expect_exit 1 "$GPUREADY" bench compare whole failing --json=json --md md
for text in "$out" "$(cat md)"; do
  expect_in "lost: no run of the candidate has a figure of it" "$text"
  expect_in "signal 11" "$text"
done
expect_in '"outcome": "lost"' "$(cat json)"
expect_exit 1 "$GPUREADY" bench promote whole failing -q
expect_in "Reject failing: candidate: 5 of 5 runs of tvm failed: signal 11" "$out"
expect_exit 1 "$GPUREADY" bench promote whole failing --stack tvm -q
expect_exit 0 "$GPUREADY" bench promote whole failing --stack gpuready -q
