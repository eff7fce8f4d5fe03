#!/usr/bin/env bash
# PyC's GPU suite itself, both ways: tests/bench/pyc_suite.sh GPUREADY FOLDER [cuda]
# Fetches the suite at a fixed commit (PYC_REPOSITORY names another place of its repository, such as a clone). Then its
# suite runs our adapters, `bench run` runs its adapters unedited, and its programs summarise, draw and file what
# `bench run --compat` wrote. On the CPU, or with `cuda` on the GPU. Exit 77: it cannot be fetched, or PyTorch is missing.
set -euo pipefail
commit=fdf1563346e8857ea049eed37a06c15f322ef3f1
gpuready=$(realpath "$1") here=$(realpath "$(dirname "${BASH_SOURCE[0]}")") device=${3:-cpu}
adapters=$here/../../adapters
python=${BENCH_PYTHON:-/usr/bin/python3}
mkdir -p "$2"; cd "$2"
skip() { echo "$*"; exit 77; }
"$python" -c 'import torch, numpy' 2>/dev/null || skip "$python has no PyTorch: apt-get install python3-torch, or set BENCH_PYTHON"
if [ ! -e pyc/.git/fetched ]; then
  rm -rf pyc; git init -q pyc
  git -C pyc fetch -q --depth 1 "${PYC_REPOSITORY:-https://github.com/DarkStarStrix/PyC}" $commit 2>fetch.txt ||
    skip "PyC's repository cannot be fetched: $(tail -1 fetch.txt)"
  git -C pyc checkout -q FETCH_HEAD
  touch pyc/.git/fetched
fi
gpu=pyc/benchmark/benchmarks/gpu
mkdir -p bin; ln -sf "$(realpath "$python")" bin/python3  # what its programs start
export PATH=$PWD/bin:$PATH PYC_BENCH_PYTHON=$python BENCH_MAX_SECONDS=1 OMP_NUM_THREADS=2
sizes=(--device "$device" --batch 8 --hidden 256 --iters 20 --warmup 5)

# 1. Its suite with our adapters, beside its own PyTorch.
PYC_GPU_BENCH_CMD="$gpuready bench adapter" XLA_BENCH_CMD="$python $adapters/torch_eager.py" \
  "$python" $gpu/run_gpu_suite.py "${sizes[@]}" --repeats 3 --adapters torch_eager,pyc,xla --tag theirs --run-id r1 \
  --output-root theirs
grep '^- `' theirs/reports/r1__theirs.md

# 2. Ours with its adapters, as they are.
arguments="${sizes[*]}"
export TORCH_EAGER_BENCH_CMD="$python $PWD/$gpu/adapters/adapter_torch_eager.py $arguments"
export PYC_GPU_BENCH_CMD="$python $PWD/$gpu/external/bench_pyc_cmd.py"
export NATIVE_BENCH_CMD="$python $adapters/torch_eager.py"
stacks=torch_eager,native
command -v cmake >/dev/null && stacks+=,pyc  # it builds its compiler
rm -rf bench-results
"$gpuready" bench run --stack $stacks "${sizes[@]}" --dtype float32 --repeats 3 --max-seconds 1 --silence 300s --no-check \
  --tag "$device" --compat pyc/benchmark/benchmarks/results/json --json=run.json

# 3. Its programs on our files.
PYTHONPATH=$PWD/$gpu "$python" pyc/scripts/standardize_benchmark_results.py
"$python" - "$gpu" "$here" "$device" $stacks <<'END'
import json, pathlib, re, sys
gpu, here, device, stacks = sys.argv[1:]
sys.path[:0] = [gpu, here]
import pyc_rules, run_gpu_suite

theirs = json.load(open("theirs/json/r1__theirs.json"))["adapters"]
for name, adapter in theirs.items():
    assert adapter["status"] == "ok", (name, adapter)
    rules = pyc_rules.derived(adapter)  # ours of its rules are its rules
    for figure, value in adapter["derived"].items():
        if figure in rules:
            assert abs(value - rules[figure]) <= 0.0051 + 1e-3 * abs(value), (name, figure, value, rules[figure])
    for figure in ("startup_total_ms", "sample_cv_pct", "repeat_mean_cv_pct"):
        assert adapter["derived"][figure] > 0, (name, figure)
for name in ("pyc", "xla"):  # ours
    assert theirs[name]["iterations_per_sample"] == 1

run = {stack["id"]: stack for stack in json.load(open("run.json"))["run"]["stacks"]}
for name in stacks.split(","):
    assert run[name]["status"] == "ok", (name, run[name].get("reason"))
    assert run[name].get("unverified", False) == (name != "native"), name

results = pathlib.Path("pyc/benchmark/benchmarks/results")
suite = json.load(open(results / "json" / f"{device}.json"))
text = run_gpu_suite.summarize_markdown(suite)
run_gpu_suite.write_svg(suite, pathlib.Path("chart.svg"))
print(text)
shown = {adapter["display_name"]: name for name, adapter in suite["adapters"].items()}
rows = [(shown[name], row) for name, row in re.findall(r"^- `(.*)` \[native\]: (.*)$", text, re.M)]
assert sorted(name for name, _ in rows) == sorted(stacks.split(",")), rows
for name, row in rows:
    pyc_rules.check_derived(suite["adapters"][name])
    for figure in ("sample_cv", "repeat_cv", "startup"):
        value = float(re.search(figure + r" ([\d.]+)", row)[1])
        # PyC's compiler on the CPU gives neither samples nor its start.
        assert value > 0 or name == "pyc", (name, figure, row)
chart = open("chart.svg").read()
assert all(f">{name}</text>" in chart for name in shown), chart
stem = next(results.glob(f"json/*__{device}.metadata.json")).name.removesuffix(".metadata.json")
assert stem.split("__")[0] in json.load(open(results / "manifest" / "results_index.json"))["runs"], stem
END
echo "both ways"
