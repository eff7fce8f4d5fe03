#!/usr/bin/env python3
"""Writes the reports of a fleet: nodes.py GPUREADY FOLDER COUNT [NODE:CHANGE...]. Each node is a machine of eight GPUs
as `gpuready doctor` reports it, with the verdicts of a test added. CHANGE is a row of CHANGES."""
import copy
import json
import os
import pathlib
import random
import subprocess
import sys
import time

MACHINE = pathlib.Path(__file__).parent.parent / "machines/base-hgx-h100x8/machine.json"
RATE = 2.9e12


def lost(report, gpu=3):
    report["exit_code"], report["exit_meaning"] = 1, "something is unhealthy, or a GPU is on the bus but unusable"
    report["gpu_status"][gpu].update(status="not_ready", reason="its driver lost it")
    report["findings"] = [{
        "id": "off-the-bus", "severity": "error", "title": "The GPU fell off the bus", "gpus": [gpu],
        "evidence": [{"source": "kernel log", "quote": "NVRM: Xid (PCI:0000:4c:00): 79"}],
        "cure": "Reboot with a full power cycle.", "action": "power_cycle"}]


def slow(report):
    report["verdicts"][2]["metrics"][0]["value"] = 0.9 * RATE


def several(report, states=("in_use", "not_ready", "unknown")):
    report["exit_code"] = 1 if "not_ready" in states else 4
    for gpu, status in enumerate(states):
        report["gpu_status"][gpu].update(status=status, reason=f"reason {gpu}")


def fewer(report, count=7):
    del report["machine"]["gpus"][count:], report["gpu_status"][count:]
    report["verdicts"] = [v for v in report["verdicts"] if int(v["subject"].split()[1]) < count]


def diagnosed(report):
    report.update(verdicts=[], command="doctor")
    for status in report["gpu_status"]:
        status["status"] = "no_problem"


def busy_without_port(report):
    report.update(verdicts=[], findings=[{
        "id": "network-port-down", "severity": "warning", "title": "A network port is down", "gpus": [], "evidence": [],
        "action": "replace"}])
    several(report, ["in_use"] * 8)
    report["exit_code"] = 0


def hostile(report):
    text = "</title><script>alert(1)</script>\x1b[31m\u202e|`*" + "x" * 5000
    report["machine"]["nvidia"]["module_version"] = report["conclusion"] = text
    lost(report)
    report["findings"][0].update(title=text, cure=text, id="a|<b>" + "y" * 500)


CHANGES = {
    "off-the-bus": lost,
    "driver": lambda report: report["machine"]["nvidia"].update(module_version="535.104.05"),
    "vbios": lambda report: report["machine"]["gpus"][1].update(vbios_version="96.00.99.00.01"),
    "slow": slow,
    "several": several,
    "several-unknown": lambda report: several(report, ("unknown", "in_use", "suspended")),
    "busy-without-port": busy_without_port,
    "seven": fewer,
    "none": lambda report: fewer(report, 0),
    "stale": lambda report: report.update(created_utc="2020-01-01T00:00:00Z"),
    "ahead": lambda report: report.update(created_utc="2099-01-01T00:00:00Z"),
    "doctor": diagnosed,
    "undetermined": lambda report: report.update(exit_code=4, exit_meaning="undetermined"),
    "replayed": lambda report: report["machine"].update(source="recorded"),
    "injected": lambda report: report.update(injected_faults=["bitflip"]),
    "hostile": hostile,
}


def passed(test, gpu, name, rate):
    return {"test": test, "subject": f"GPU {gpu['index']}", "uuid": gpu["uuid"], "executor": "cuda", "status": "passed",
            "reason": "every word was right", "bad_words_total": 0, "bad_words": [], "mismatches_total": 0,
            "mismatches": [], "digests": [], "duration_ms": 700.0,
            "metrics": [{"name": name, "value": rate, "unit": "B/s"}]}


def main():
    binary, folder, count = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    changes = [word.split(":") for word in sys.argv[4:]]
    folder.mkdir(parents=True, exist_ok=True)
    text = subprocess.run([binary, "doctor", "--replay", MACHINE, "--json", "-"], check=True, capture_output=True).stdout
    base = json.loads(text)
    base["command"], base["level"] = "check", "quick"
    base["machine"]["source"] = "live"
    base["machine"]["system"]["product_name"] = "DGX H100"
    created = time.time()
    for number in range(1, count + 1):
        name = f"n{number}"
        noise = random.Random(name)  # a node is the same machine each time
        report = copy.deepcopy(base)
        report["created_utc"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created))
        report["machine_id"] = f"{noise.getrandbits(128):032x}"
        report["machine"]["system"]["host_name"] = f"{name}.cluster.example"
        report["verdicts"] = []
        for gpu in report["machine"]["gpus"]:
            gpu["uuid"] = f"GPU-{noise.getrandbits(128):032x}"
            rate = RATE * (1 + noise.gauss(0, 0.002))
            report["verdicts"].append(passed("bandwidth", gpu, "dram_copy_rate", rate))
        for gpu in report["machine"]["gpus"]:  # n2: the first check of a boot, at the idle clock
            report["verdicts"].append(passed("memory", gpu, "write_address_rate", RATE / 6 if number == 2 else RATE))
        for status in report["gpu_status"]:
            status["status"] = "ready"
        for node, change in changes:
            if node == name:
                CHANGES[change](report)
        temporary = folder / f".{name}"
        temporary.write_text(json.dumps(report, indent=2) + "\n")
        os.replace(temporary, folder / f"{name}.json")


main()
