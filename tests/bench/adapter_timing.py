#!/usr/bin/env python3
"""How adapters time stacks that answer before their work is done, on a device whose clock is simulated:
adapter_timing.py ADAPTERS_FOLDER."""
import sys

sys.path.insert(0, sys.argv[1])
import gpuready_bench as bench  # noqa: E402


class Device:
    """Starting an iteration takes the host `start_ms`; the device then takes `run_ms`, one after the other."""

    def __init__(self, start_ms, run_ms):
        self.start_ms, self.run_ms, self.now_ms, self.free_ms = start_ms, run_ms, 0.0, 0.0

    def step(self):
        self.now_ms += self.start_ms
        self.free_ms = max(self.free_ms, self.now_ms) + self.run_ms
        return self.free_ms

    def wait(self, done_ms):
        self.now_ms = max(self.now_ms, done_ms)

    def perf_counter(self):
        return self.now_ms / 1e3


class StepThatWaits(Device):
    def step(self):
        done = super().step()
        super().wait(done)
        return done


def samples(device, asynchronous):
    bench.time = device
    stack = bench.Stack(device.step, lambda outputs: [], wait=device.wait if asynchronous else None)
    return bench._host_block(stack, 4, 10)[0]


CASES = [  # what an iteration takes: the slower of host and device, and both where the step waits
    (Device(1.0, 0.01), True, 1.0),
    (Device(0.01, 3.0), True, 3.0),
    (Device(2.0, 2.0), True, 2.0),
    (StepThatWaits(1.0, 3.0), False, 4.0),
]
for device, asynchronous, wanted in CASES:
    got = samples(device, asynchronous)
    assert len(got) == 10, got
    assert all(abs(sample - wanted) < 1e-9 for sample in got), (wanted, got)
