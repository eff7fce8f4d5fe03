#!/usr/bin/python3
"""Writes benchmark runs for tests: bench_runs.py FOLDER TAG FIRST STEP VALUE...

One run a VALUE, which is the ns of an iteration; the first begins FIRST seconds after noon, and each
other one STEP seconds later. Variables change a run: GPU, DRIVER, VARIABLE (NAME=VALUE), COMMIT,
STACK, MEMORY (bytes), FLOPS and ROOFLINE (flops_per_s).
"""
import json
import os
import pathlib
import sys

folder, tag, first, step, *values = sys.argv[1:]
env = os.environ.get
pathlib.Path(folder).mkdir(exist_ok=True)
for i, value in enumerate(values):
    seconds = int(first) + i * int(step)
    ns = float(value)
    repeat = {"position": 0, "status": "ok",
              "samples_ns": [ns * (1 + 0.001 * ((7 * k) % 11 - 5)) for k in range(220)]}
    if env("MEMORY"):
        repeat["memory_peak_bytes"] = int(env("MEMORY"))
    run = {
        "tag": tag, "id": f"{tag}-{i}",
        "started_utc": f"2026-03-01T12:{seconds // 60:02}:{seconds % 60:02}Z",
        "git_commit": env("COMMIT", "1111111"),
        "environment": {"gpus": [{"name": "NVIDIA H200", "uuid": env("GPU", "GPU-1")}],
                        "driver_version": env("DRIVER", "580.65.06")},
        "workload": {"name": "mlp", "shape": {"batch": 64, "hidden": 2048}, "dtype": "bf16",
                     "device": "cuda", "rows": 64, "elements": 131072},
        "protocol": {"origin": "gpuready", "clocks_locked": False},
        "stacks": [{"id": env("STACK", "gpuready"), "status": "ok", "repeats": [repeat]}],
    }
    if env("VARIABLE"):
        run["environment"]["variables"] = dict([env("VARIABLE").split("=", 1)])
    if env("ROOFLINE"):
        run["workload"]["flops"] = int(env("FLOPS", "1000000"))
        run["roofline"] = {"flops_per_s": float(env("ROOFLINE"))}
    document = {"schema": "gpuready.bench-run", "schema_version": 1, "run": run}
    pathlib.Path(folder, f"{run['id']}__{tag}.json").write_text(json.dumps(document))
pathlib.Path(folder, "latest").write_text(tag + "\n")
