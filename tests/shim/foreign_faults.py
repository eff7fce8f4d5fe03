#!/usr/bin/env python3
"""Draws faults of a foreign libcuda and NVML (docs/foreign-faults.md), runs the shortest command that owes the
obligation concerned, and judges: found, not effective (and why), missed. Exit 1 where one was missed."""
import argparse
import collections
import concurrent.futures
import ctypes
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # nothing beside the sources
from fault_classes import CLASSES, GPU, NVML, OPERATIONS, SOFTWARE

GIB = 1 << 30


class Census:
    def __init__(self, path):
        self.copies, self.launches, self.blocks, self.modules, self.fills, self.nvml = {}, {}, {}, 0, 0, False
        processes = collections.defaultdict(list)
        for line in open(path) if os.path.exists(path) else []:
            pid, *words = line.split()
            if words == ["nvml"]:
                self.nvml = True
            else:
                processes[pid].append(words)
        for words in max(processes.values(), key=len, default=[]):  # the worker; others only look
            if words[0] == "copy":
                self.copies[words[1]] = self.copies.get(words[1], 0) + 1
            elif words[0] == "launch" and len(words) == 3:  # a process that is killed may leave half a line
                self.launches[words[1]] = self.launches.get(words[1], 0) + 1
                self.blocks[words[1]] = max(self.blocks.get(words[1], 0), int(words[2]))
            self.modules += words[0] == "module"
            self.fills += words[0] == "fill"


def nvidia_gpus():
    folder = "/proc/driver/nvidia/gpus"
    return len(os.listdir(folder)) if os.path.isdir(folder) else 1


Outcome = collections.namedtuple("Outcome", "exit report text effect what seconds")


class Bench:
    def __init__(self, options, folder):
        self.binary, self.folder, self.options = os.path.realpath(options.gpuready), folder, options
        self.software = options.fakes is not None
        self.commands = SOFTWARE if self.software else [c for c in GPU if c.name != "peers" or nvidia_gpus() > 1]
        self.census, self.baseline = {}, {}
        self.shims = {}
        drivers = {c.driver for c in self.commands}
        for driver in drivers:
            self.shims[driver] = shim = os.path.join(folder, f"shim-{driver}")
            os.mkdir(shim)
            for library, real in (("libcuda", "libreal_cuda"), ("libnvidia-ml", "libreal_nvml")):
                path = os.path.join(options.shim, library + ".so.1")
                # A copy: the loader looks for what it needs beside the file itself.
                with open(path, "rb") as one, open(os.path.join(shim, library + ".so.1"), "wb") as other:
                    other.write(one.read())
                os.symlink(self.real_library(library, driver), os.path.join(shim, real + ".so.1"))

    def real_library(self, library, driver):
        if self.software:
            folder, name = (self.options.fakes, driver) if library == "libcuda" else (self.options.shim, "ptx_nvml")
            return os.path.realpath(os.path.join(folder, name + ".so"))
        ctypes.CDLL(library + ".so.1")
        return next(os.path.realpath(line.split()[-1]) for line in open("/proc/self/maps") if library in line)

    def pick(self, rng, names):
        there = [c for c in self.commands if c.name in names]
        return rng.choice(there) if there else None

    def run(self, command, spec, name, compare=None):
        log, report = (os.path.join(self.folder, f"{name}.{end}") for end in ("log", "json"))
        before = os.environ.get("LD_LIBRARY_PATH")
        shim = self.shims[command.driver]
        env = dict(os.environ, FOREIGN_FAULT=spec, FOREIGN_LOG=log, FOREIGN_START=str(time.time()),
                   LD_LIBRARY_PATH=shim + (":" + before if before else ""), **({"FAKE_CUDA": command.fake} if command.fake else {}))
        if compare:
            env["FOREIGN_COMPARE"] = str(compare)
        words = [self.binary, *command.words] + ([f"--json={report}"] if command.name != "gpu-test" else [])
        if command.words[0] in ("check", "test"):  # with a fault: says nothing about this machine
            words += ["--state", os.path.join(self.folder, f"{name}.state")]
        begun = time.monotonic()
        try:
            done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=self.options.timeout)
            code, text = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            code, text = None, f"no answer within {self.options.timeout} s"
        try:
            with open(report) as file:
                document = json.load(file)
        except (OSError, ValueError):
            document = {}
        made = [re.match(r"\d+ fault (\w+): (.*)", line) for line in open(log)] if os.path.exists(log) else []
        made = [(m[1], m[2]) for m in made if m]
        # Several processes may have made it; one that changed something is enough.
        effect, what = next((m for m in made if m[0] == "changed"), made[0] if made else (None, "never reached"))
        return Outcome(code, document, text, effect, what, time.monotonic() - begun)

    def take_baseline(self):
        """Without a fault: clean, twice; the second run is counted."""
        for command in self.commands:
            for spec, name in (("fault=none", "clean"), ("fault=census", "census")):
                outcome = self.run(command, spec, f"{command.name}-{name}")
                if outcome.exit != 0:
                    sys.exit(f"{command.name} is not clean without a fault: exit {outcome.exit}\n{outcome.text}")
            self.baseline[command.name] = outcome
            self.census[command.name] = Census(os.path.join(self.folder, f"{command.name}-census.log"))
            census = self.census[command.name]
            if not census.nvml or (command.name in OPERATIONS and not census.copies):
                sys.exit(f"{command.name} did not come through the shim")
            print(f"baseline {command.name}: clean, {outcome.seconds:.1f} s", flush=True)


def finding_ids(report):
    return {f["id"] for f in report.get("findings", []) if f.get("severity") != "info"}


def reason_of(command, outcome, baseline):
    """Why the command did not accept the GPU, where it names the GPU; else None."""
    if command.name == "gpu-test":
        return next((line for line in outcome.text.splitlines() if re.search(r"GPU \d (note|.*failed)|Error code", line)), None)
    for verdict in outcome.report.get("verdicts", []):
        if verdict["status"] != "passed" and verdict["subject"].startswith("GPU"):
            return f"{verdict['test']} {verdict['status']}: {verdict.get('reason', '')}"
    new = [f for f in outcome.report.get("findings", []) if f["id"] in finding_ids(outcome.report) - finding_ids(baseline.report)]
    if new:
        return f"{new[0]['id']}: {new[0]['title']}"
    conclusion = outcome.report.get("conclusion", "")
    return conclusion if conclusion != baseline.report.get("conclusion") else None


def hidden_link(report, spec):
    """Why the link does not count, where the surroundings hide it and the answer says so."""
    status = next(iter(report.get("gpu_status", [])), {})
    owed = next((o for o in status.get("obligations", []) if o["kind"] == "host_link"), {})
    hides = "what=link_" in spec and owed.get("duty") == "hidden" and "host link" in report["conclusion"]
    return owed["reason"] if hides else None


def judge(bench, number, drawn):
    name, command, spec, owes = drawn
    baseline = bench.baseline[command.name]
    outcome = bench.run(command, spec, f"fault-{number}")
    reason = reason_of(command, outcome, baseline)
    effect, what = outcome.effect, outcome.what
    # gpu-test makes no report; what hides the link is the same for `check`.
    no_link = hidden_link(bench.baseline.get("check", outcome).report if command.name == "gpu-test" else outcome.report, spec)
    if outcome.exit == 0 and effect == "unknown" and "fault=launch" in spec:  # now slowly
        again = bench.run(command, spec, f"fault-{number}-compared", compare=bench.options.compare)
        effect, what = again.effect or effect, again.what if again.effect else what
    if outcome.exit in (1, 4) and effect is None:
        verdict, why = "false alarm", f"exit {outcome.exit} though no fault was made: {reason}"
    elif outcome.exit in (1, 4) and reason:
        verdict, why = "found", f"exit {outcome.exit}: {reason}"
    elif outcome.exit == 0 and no_link:
        verdict, why = "not effective", "host link: " + no_link
    elif outcome.exit == 0 and (owes == "told" or command.name in ("gpu-test", "doctor")) and reason:
        verdict, why = "found", f"told, exit 0: {reason}"
    elif outcome.exit == 0 and effect is None:
        verdict, why = "not effective", "never reached"
    elif outcome.exit == 0 and effect == "unchanged":
        verdict, why = "not effective", "no byte or figure changed: " + what
    elif outcome.exit == 0 and effect == "unknown":
        verdict, why = "not compared", "too much memory is in use to tell what changed: " + what
    elif outcome.exit == 0:
        verdict, why = "missed", "exit 0: " + what
    else:
        verdict, why = "missed", f"exit {outcome.exit}, no GPU named: {outcome.text.strip().splitlines()[-1:]}"
    return dict(number=number, fault_class=name, name=command.name, command=" ".join(command.words), driver=command.driver, fault=spec, owes=owes,
                exit=outcome.exit, effect=effect, what=what, verdict=verdict, why=" ".join(why.split()), seconds=round(outcome.seconds, 2))


def draws(bench, rng, count):
    """Each class as often as it counts, in rounds of their own order; none twice."""
    seen, round_ = set(), []
    for _ in range(100 * count):
        if len(seen) == count:
            return
        if not round_:
            round_ = [c for c in CLASSES for _ in range(c[1]) if c[2] or not bench.software]
            rng.shuffle(round_)
        name, _, _, draw = round_.pop()
        drawn = draw(bench, rng)
        if drawn and drawn[0] and (drawn[0].name, drawn[1]) not in seen:
            seen.add((drawn[0].name, drawn[1]))
            yield name, *drawn


VERDICTS = ["found", "not effective", "not compared", "missed", "false alarm"]


def table(rows):
    lines = [["class", "drawn", *VERDICTS]]
    for name in [c[0] for c in CLASSES] + ["all"]:
        of = [r for r in rows if name in (r["fault_class"], "all")]
        if of:
            lines.append([name, str(len(of)), *(str(sum(r["verdict"] == v for r in of)) for v in VERDICTS)])
    return "\n".join(f"{line[0]:<34}" + "".join(f"{cell:>15}" for cell in line[1:]) for line in lines)


def add_up(paths):
    rows = []
    for path in paths:
        with open(path) as file:
            rows += json.load(file)["faults"]
    lines = [re.split(r"  +", line) for line in table(rows).splitlines()]
    lines.insert(1, ["---"] + ["---:"] * (len(lines[0]) - 1))
    print("\n".join("| " + " | ".join(line) + " |" for line in lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gpuready", nargs="?")
    parser.add_argument("shim", nargs="?", help="the folder of the built libraries")
    parser.add_argument("--add-up", nargs="+", metavar="JSON", help="print the table of these earlier results in Markdown, and do nothing else")
    parser.add_argument("--fakes", help="the folder of the drivers in software; without it this machine's GPU")
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=170, help="no new fault after these; those left out are told")
    parser.add_argument("--timeout", type=float, default=100, help="of one command")
    parser.add_argument("--compare", type=int, default=2 * GIB, help="bytes of device memory that are compared at most")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--class", dest="kind", help="only classes whose name has this")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.add_up:
        return add_up(options.add_up)
    if not options.shim:
        parser.error("the program and the folder of the built libraries are wanted")
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    begun = time.monotonic()
    if options.kind:
        CLASSES[:] = [c for c in CLASSES if options.kind in c[0]]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        bench.take_baseline()
        rng = random.Random(seed)
        bench.nvml = rng.sample(NVML, len(NVML))
        todo, rows = list(enumerate(draws(bench, rng, options.faults), 1)), []

        def one(item):
            if time.monotonic() - begun > options.seconds:
                return None
            row = judge(bench, *item)
            print(f"{row['number']:3} {row['verdict']:<13} {row['name']}: {row['fault']} | {row['why'][:230]}", flush=True)
            return row

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            rows = [row for row in pool.map(one, todo) if row]
    if options.json:
        with open(options.json, "w") as file:
            json.dump(dict(seed=seed, drawn=len(todo), faults=rows), file, indent=1)
    print("\n" + table(rows) + "\n")
    wrong = [r for r in rows if r["verdict"] in ("missed", "false alarm")]
    late = len(todo) - len(rows)
    print(f"seed {seed}: {len(rows)} faults in {time.monotonic() - begun:.0f} s"
          + (f", {late} left out for lack of time" if late else "") + f"; {sum(r['verdict'] == 'found' for r in rows)} found, {len(wrong)} missed or false alarms")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
