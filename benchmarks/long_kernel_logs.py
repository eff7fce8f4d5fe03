#!/usr/bin/env python3
"""CPU time of `doctor --replay` with long kernel logs, for docs/performance.md.

long_kernel_logs.py GPUREADY [RUNS]
"""
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

LINES = 60_000
BASE = pathlib.Path(__file__).resolve().parent.parent / "tests/machines/base-hgx-h100x8/machine.json"
OTHERS = ("usb 1-4: new high-speed USB device number {n} using xhci_hcd",
          "EXT4-fs (nvme0n1p{n}): mounted filesystem with ordered data mode. Quota mode: none.",
          "docker0: port {n}(veth8f2c1aa) entered forwarding state",
          "audit: type=1400 audit({n}.123:45): apparmor=\"STATUS\" operation=\"profile_load\" pid={n}",
          "eth0: Link is Up - 1Gbps/Full - flow control rx/tx {n}")
OF_GPUS = ("NVRM: Xid (PCI:0000:1b:00): 31, pid={n}, name=python3, Ch 00000008, intr 00000000. MMU Fault",
           "nvidia 0000:1b:00.0: AER: Corrected error message received from 0000:1b:00.0",
           "pcieport 0000:1a:01.0: AER: Correctable error message received from 0000:1b:00.0",
           "nvidia-uvm: Loaded the UVM driver, major device number {n}.")


def mixed():
    """Every tenth line is about a GPU."""
    return [(OF_GPUS[i // 10 % len(OF_GPUS)] if i % 10 == 0 else OTHERS[i % len(OTHERS)]).format(n=i)
            for i in range(LINES)]


def xids():
    return [OF_GPUS[0].format(n=i) for i in range(LINES)]


def spent_s():
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def cpu_ms(command):
    before = spent_s()
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if ended.returncode not in (0, 1):  # 1: something is wrong with the machine
        sys.exit(ended.stderr.decode())
    return (spent_s() - before) * 1000


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 30
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in (("no lines", []), ("mixed", mixed()), ("Xids", xids())):
            script = pathlib.Path(folder, "machine.json")
            script.write_text(json.dumps({
                "schema": "gpuready.machine-script", "schema_version": 1, "description": name,
                "source": "made", "extends": os.path.relpath(BASE, folder),
                "kernel_log": [f"{i / 100:.6f} {line}" for i, line in enumerate(lines)]}))
            times = [cpu_ms([program, "doctor", "--replay", script]) for _ in range(runs)]
            print(f"{name}: least {min(times):.0f}, median {statistics.median(times):.0f}, "
                  f"most {max(times):.0f} ms of CPU in {runs} runs")


if __name__ == "__main__":
    main()
