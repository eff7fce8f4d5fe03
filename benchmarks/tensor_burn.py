#!/usr/bin/env python3
"""The tensor burn beside cuBLAS (through PyTorch), in turns, on the same kind of operand values:
integers of magnitude 1 to 255 and random sign as bf16. Prints rates, average power and SM clock of
each, and the ratios. Needs PyTorch with CUDA, NVML's Python module and a GPU of its own.

Usage: benchmarks/tensor_burn.py GPUREADY [SECONDS [ROUNDS]]
"""
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import pynvml
import torch

gpuready = sys.argv[1]
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
SIZE = 8192

pynvml.nvmlInit()
gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
uuid = pynvml.nvmlDeviceGetUUID(gpu)


class Sampler(threading.Thread):
    """Energy counter and SM clock every 50 ms."""

    def __init__(self):
        super().__init__(daemon=True)
        self.samples, self.done = [], False

    def run(self):
        while not self.done:
            self.samples.append((time.monotonic(), pynvml.nvmlDeviceGetTotalEnergyConsumption(gpu),
                                 pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM)))
            time.sleep(0.05)

    def between(self, start, stop):
        """Average watts and MHz."""
        inside = [s for s in self.samples if start <= s[0] <= stop]
        first, last = inside[0], inside[-1]
        return (last[1] - first[1]) / 1e3 / (last[0] - first[0]), statistics.mean(s[2] for s in inside)


def burn():
    options = json.dumps({"level": "standard", "duration_s": seconds / 0.85})
    with tempfile.NamedTemporaryFile("r") as told:
        subprocess.run(["bash", "-c", 'exec "$@" 3>"$0"', told.name, gpuready, "__worker", "tensor",
                        "--device", "cuda:" + uuid, "--options-json", options], check=True)
        stop = time.monotonic()
        verdict = [json.loads(line) for line in told if '"verdict"' in line][-1]["verdict"]
    if verdict["status"] != "passed":
        sys.exit(f"the tensor test did not pass: {verdict['reason']}")
    return {m["name"]: m["value"] for m in verdict["metrics"]}["bf16_rate"], stop


def values():
    magnitude = torch.randint(1, 256, (SIZE, SIZE), device="cuda")
    return (magnitude * (torch.randint(0, 2, (SIZE, SIZE), device="cuda") * 2 - 1)).to(torch.bfloat16)


def cublas():
    a, b = values(), values().t()
    c = torch.empty(SIZE, SIZE, device="cuda", dtype=torch.bfloat16)
    for _ in range(20):
        torch.matmul(a, b, out=c)
    torch.cuda.synchronize()
    products, ms, start = 0, 0.0, time.monotonic()
    while time.monotonic() - start < seconds:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(50):
            torch.matmul(a, b, out=c)
        end.record()
        torch.cuda.synchronize()
        products, ms = products + 50, ms + begin.elapsed_time(end)
    return 2 * SIZE**3 * products / ms * 1e3, time.monotonic()


sampler = Sampler()
sampler.start()
found = {"burn": [], "cuBLAS": []}
for _ in range(rounds):
    for name, run in (("burn", burn), ("cuBLAS", cublas)):
        rate, stop = run()
        # The burn's form is the last of its test: the end of the run is all its.
        watts, mhz = sampler.between(stop - seconds * 0.8, stop - seconds * 0.1)
        found[name].append((rate, watts))
        print(f"{name:7} {rate / 1e12:7.1f} TFLOP/s  {watts:6.1f} W  {mhz:6.0f} MHz", flush=True)
sampler.done = True
for index, what in enumerate(("rate", "power")):
    ours, theirs = (statistics.median(r[index] for r in found[n]) for n in ("burn", "cuBLAS"))
    print(f"{what}: burn / cuBLAS = {ours / theirs:.3f}")
