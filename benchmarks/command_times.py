#!/usr/bin/env python3
"""Times of whole commands, beside nvidia-smi where it is here, and beside a process that makes just
the NVML calls of `detect` (nvml_floor.c, compiled here). Runs are interleaved, so that noise hits all
alike; the median and the ratio to nvidia-smi are printed.

Usage: benchmarks/command_times.py GPUREADY [RUNS]
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

gpuready, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 15
# What `detect` tells of a GPU, asked of nvidia-smi by name.
FIELDS = (
    "name,uuid,pci.bus_id,serial,vbios_version,driver_version,compute_cap,memory.total,memory.used,"
    "memory.free,memory.reserved,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,power.draw,power.limit,"
    "power.default_limit,power.max_limit,temperature.gpu,temperature.memory,utilization.gpu,ecc.mode.current,"
    "ecc.mode.pending,ecc.errors.corrected.volatile.total,ecc.errors.uncorrected.volatile.total,"
    "ecc.errors.corrected.aggregate.total,ecc.errors.uncorrected.aggregate.total,retired_pages.pending,"
    "pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max,persistence_mode,"
    "mig.mode.current,mig.mode.pending,compute_mode,clocks_event_reasons.active,gsp.mode.current,fabric.state"
)
commands = {
    "nvidia-smi": ["nvidia-smi"],
    "nvidia-smi --query-gpu": ["nvidia-smi", "--query-gpu=" + FIELDS, "--format=csv"],
    "gpuready detect": [gpuready, "detect"],
    "gpuready detect --no-libraries": [gpuready, "detect", "--no-libraries"],
    "gpuready detect --full": [gpuready, "detect", "--full"],
    "gpuready doctor": [gpuready, "doctor"],
    "gpuready check": [gpuready, "check"],
}
floor = os.path.join(tempfile.mkdtemp(), "nvml_floor")
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nvml_floor.c")
if shutil.which("cc") and subprocess.run(["cc", "-O2", "-o", floor, source, "-ldl"]).returncode == 0:
    if subprocess.run([floor]).returncode == 0:
        commands["the NVML calls of detect alone"] = [floor]
if shutil.which("nvidia-smi") is None:
    commands = {name: c for name, c in commands.items() if not name.startswith("nvidia-smi")}

times = {name: [] for name in commands}
for turn in range(runs + 1):
    for name, command in commands.items():
        if name == "gpuready check" and turn > 5:
            continue
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        elapsed = (time.perf_counter() - start) * 1000
        if done.returncode not in (0, 1, 4):
            sys.exit(f"{name}: exit {done.returncode}: {done.stderr.decode()}")
        if turn > 0:  # the first turn warms up
            times[name].append(elapsed)

base = statistics.median(times["nvidia-smi"]) if "nvidia-smi" in times else None
print(f"{'command':34} {'median ms':>10} {'best ms':>9} {'of nvidia-smi':>14}")
for name, values in times.items():
    median = statistics.median(values)
    ratio = f"{median / base:.3f}" if base else "-"
    print(f"{name:34} {median:10.2f} {min(values):9.2f} {ratio:>14}")
