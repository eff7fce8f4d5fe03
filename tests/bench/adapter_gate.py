#!/usr/bin/env python3
"""The gate of adapters: adapter_gate.py ADAPTERS_FOLDER. An adapter says that it is ready, waits without using the
CPU, and goes on when it is let through; without a gate it does not wait, and without gpuready it ends."""
import os
import socket
import subprocess
import sys
import time

folder = sys.argv[1]
program = f"""import os, sys, types
sys.path.insert(0, {folder!r})
sys.modules["numpy"] = types.SimpleNamespace(__version__="")
import gpuready_bench as bench
clock_s, read = 0, os.read
def read_for_a_second(*args):
    global clock_s
    clock_s += 1
    return read(*args)
os.read, bench.time.monotonic = read_for_a_second, lambda: clock_s
made_s = []
bench.Workload.tensor = lambda self, name: made_s.append(clock_s) or name
bench.Workload.digest = lambda self, outputs: 0
bench.measure = lambda work, stack: (dict(samples_ms=[1], first_step_ms=1), 0)
def build(work):
    global clock_s
    clock_s += 4
    assert work.inputs() == ["x", "w1", "b1", "w2", "b2"] and made_s == [4] * 5
    work.inputs()
    return bench.Stack(lambda: 0, lambda outputs: 0)
print(bench._run("a", build, "native")["startup_ms"]["setup"], bench._waited_ms)"""


def start(gate):
    ours, theirs = socket.socketpair()
    with theirs:
        env = {**os.environ, "BENCH_GATE": str(theirs.fileno())} if gate else os.environ
        child = subprocess.Popen([sys.executable, "-c", program], env=env, pass_fds=[theirs.fileno()],
                                 stdout=subprocess.PIPE, text=True)
    return ours, child


def cpu_ticks(pid):
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


gate, child = start(True)
assert gate.recv(100) == b"ready\n"
before = cpu_ticks(child.pid)
time.sleep(0.5)
assert cpu_ticks(child.pid) == before
gate.send(b"\n")
assert child.communicate()[0] == "4000.0 1000.0\n" and child.returncode == 0

gate, child = start(False)
assert child.communicate()[0] == "4000.0 0.0\n"

gate, child = start(True)
assert gate.recv(100) == b"ready\n"
gate.close()
assert child.communicate()[0] == "" and child.returncode == 1
