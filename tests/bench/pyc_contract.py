#!/usr/bin/env python3
"""The contract with PyC's GPU suite, both ways, by its rules (pyc_rules.py) and without its code:
pyc_contract.py GPUREADY ADAPTERS_FOLDER FOLDER. Its suite reads our answers, natively and of the Python adapters; `bench
run` reads an adapter that knows only PyC's fields and names; the files of --compat hold what PyC's programs print.
Exit 77: no numpy."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pyc_rules

gpuready, adapters, folder = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:])
try:
    import numpy  # noqa: F401
except ImportError:
    print("numpy is not here: apt-get install python3-numpy")
    sys.exit(77)
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
os.chdir(folder)

SIZES = {"device": "cpu", "batch": 8, "hidden": 64, "iters": 12, "warmup": 3}
asked = {**os.environ, **{f"BENCH_{name.upper()}": str(value) for name, value in SIZES.items()},
         "BENCH_MAX_SECONDS": "0.3"}
asked.pop("BENCH_PROTOCOL", None)

# 1. Its suite runs ours. A stack of numpy stands for the frameworks; it says that compiling takes 30 ms.
pathlib.Path("numpy_stack.py").write_text(f"""
import sys, time
sys.path.insert(0, {adapters!r})
import math
import numpy as np
from gpuready_bench import Stack, main

def build(work):
    x, w1, b1, w2, b2 = work.inputs()
    time.sleep(0.03)  # compiles
    erf = np.vectorize(math.erf, otypes=[np.float32])
    def step():
        h = x @ w1.T + b1
        y = (h * 0.5 * (1 + erf(h * np.float32(0.5 ** 0.5)))) @ w2.T + b2
        z = y @ y.T
        return y, z, z.mean()
    return Stack(step, lambda outputs: outputs, compile_ms=30.0)
main("numpy", build)
""")
for command in (f"{gpuready} bench adapter", f"{sys.executable} numpy_stack.py"):
    answers = [pyc_rules.answer_of(command, asked) for _ in range(2)]
    for answer in answers:
        assert answer["status"] == "ok", answer
        assert answer["iterations_per_sample"] == 1 and len(answer["samples_ms"]) >= SIZES["iters"], answer
        start = answer["startup_ms"]
        assert start["total"] == start["setup"] + start["first_step"] > 0, start
        overhead = start.get("compile", 0) + max(0, start["first_step"] - answer["latency_ms"]["p50"])
        assert abs(start["compile_overhead_estimate"] - overhead) < 1e-9, start
        assert start.get("compile", 0) <= start["setup"], start
    figures = pyc_rules.derived(pyc_rules.summed_up(answers))
    for name in ("jitter_ms_p95_minus_p50", "sample_cv_pct", "repeat_mean_cv_pct", "estimated_tflops_per_sec",
                 "startup_total_ms", "peak_memory_gib"):
        assert figures[name] > 0, (command, name, figures)
    for dtype in ("float32", "f32", "fp32", "float"):  # by whatever name
        assert pyc_rules.answer_of(command, {**asked, "BENCH_DTYPE": dtype})["dtype"] == "fp32", (command, dtype)

# 2. Ours runs an adapter that reads PyC's variables and writes PyC's fields.
pathlib.Path("of_pyc.py").write_text("""
import json, os, time
batch, hidden, iters = (int(os.environ["BENCH_" + name]) for name in ("BATCH", "HIDDEN", "ITERS"))
assert os.environ["BENCH_DTYPE"] == "float32" and os.environ["BENCH_TASK"] == "mlp"
samples = []
for i in range(iters):
    start = time.perf_counter()
    time.sleep(0.001 + 0.0001 * (i % 3))
    samples.append((time.perf_counter() - start) * 1e3)
ordered = sorted(samples)
print("warming up")
print(json.dumps({
    "status": "ok", "backend": "of_pyc", "mode": "native", "device": os.environ["BENCH_DEVICE"], "dtype": "float32",
    "task": "mlp", "batch": batch, "hidden": hidden, "iters": iters, "warmup": 3,
    "shape": {"batch": batch, "hidden": hidden},
    "latency_ms": {"mean": sum(samples) / iters, "p50": ordered[iters // 2], "p95": ordered[-1], "min": ordered[0],
                   "max": ordered[-1]},
    "startup_ms": {"setup": 5.0, "first_step": 7.0, "total": 12.0, "compile_overhead_estimate": 5.9},
    "throughput_tokens_per_sec": batch * hidden / (sum(samples) / iters) * 1e3, "peak_memory_bytes": 123 << 20,
    "samples_ms": samples}))
""")
run = subprocess.run(
    [gpuready, "bench", "run", "--stack", "gpuready,numpy,of_pyc", "--device", "cpu", "--dtype", "float32", "--batch",
     "8", "--hidden", "64", "--iters", "12", "--warmup", "3", "--repeats", "3", "--max-seconds", "0.3", "--tag", "cpu",
     "--compat", "suite", "--json=run.json"],
    env={**os.environ, "NUMPY_BENCH_CMD": f"{sys.executable} {folder}/numpy_stack.py",
         "OF_PYC_BENCH_CMD": f"{sys.executable} {folder}/of_pyc.py"}, capture_output=True, text=True)
assert run.returncode == 0, run.stdout + run.stderr
stacks = {stack["id"]: stack for stack in json.load(open("run.json"))["run"]["stacks"]}
assert stacks["of_pyc"]["status"] == "ok" and stacks["of_pyc"]["unverified"] is True
assert stacks["numpy"]["status"] == "ok" and "unverified" not in stacks["numpy"]
assert (stacks["of_pyc"]["repeats"][0]["setup_ms"], stacks["of_pyc"]["repeats"][0]["first_run_ms"]) == (5, 7)

# 3. Its programs read our files.
suite = json.load(open("suite/cpu.json"))
assert suite["meta"]["adapters"] == ["gpuready", "numpy", "of_pyc"]
for name, adapter in suite["adapters"].items():
    assert adapter["status"] == "ok" and len(adapter["repeat_mean_ms_values"]) == 3, adapter
    pyc_rules.check_derived(adapter)
    for figure in ("sample_cv_pct", "repeat_mean_cv_pct", "estimated_tflops_per_sec", "startup_total_ms",
                   "peak_memory_gib"):
        assert adapter["derived"][figure] > 0, (name, figure)
assert suite["adapters"]["of_pyc"]["startup_ms"]["total"] == 12
assert suite["adapters"]["numpy"]["startup_ms"]["compile_overhead_estimate"] >= 30
