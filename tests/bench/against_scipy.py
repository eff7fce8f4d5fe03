#!/usr/bin/env python3
"""Holds the p-values and intervals of `gpuready bench compare` against scipy's own tests.

usage: against_scipy.py GPUREADY. Exit 77: scipy is not installed (python3-scipy, or pip).
"""
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    from scipy import stats
except ImportError:
    print("SKIPPED: no scipy")
    sys.exit(77)

GPUREADY = sys.argv[1]
WRITE = pathlib.Path(__file__).resolve().parent.parent / "cli" / "bench_runs.py"
ERROR = 0.006 * 0.85  # docs/bench.md: the error of all, and the share of p50


def p50(folder, base, candidate):
    """What compare says of p50; sides are lists of (second, ns)."""
    for tag, runs in (("base", base), ("candidate", candidate)):
        for i, (second, ns) in enumerate(runs):
            subprocess.run([WRITE, folder, f"{tag}", str(second), "1", repr(ns)], check=True)
            path = pathlib.Path(folder, f"{tag}-0__{tag}.json")
            document = json.loads(path.read_text())
            document["run"]["id"] = f"{tag}-{i}"
            document["run"]["stacks"][0]["repeats"][0]["samples_ns"] = [ns]
            path.unlink()
            pathlib.Path(folder, f"{tag}-{i}x__{tag}.json").write_text(json.dumps(document))
    out = subprocess.run([GPUREADY, "bench", "compare", "base", "candidate", "--results", folder,
                          "--json", "-"], capture_output=True, text=True)
    return json.loads(out.stdout)["comparison"]["stacks"][0]["kpis"][0]


def close(name, ours, theirs, relative):
    assert math.isclose(ours, theirs, rel_tol=relative), f"{name}: {ours}, scipy says {theirs}"


random.seed(5)
cases = 0
for runs in (2, 3, 5, 8, 11, 12, 20):
    for alternate in (True, False):
        base = [random.gauss(1000, 10) for _ in range(runs)]
        candidate = [random.gauss(985, 15) for _ in range(runs)]
        # Alternating, or all at one time: then no order is known.
        seconds = [(2 * i, 2 * i + 1) if i % 2 else (2 * i + 1, 2 * i) for i in range(runs)]
        if not alternate:
            seconds = [(0, 0)] * runs
        with tempfile.TemporaryDirectory() as folder:
            kpi = p50(folder, [(s[0], v) for s, v in zip(seconds, base)],
                      [(s[1], v) for s, v in zip(seconds, candidate)])
        better = [-math.log(v) for v in candidate], [-math.log(v) for v in base]
        test = stats.ttest_rel(*better) if alternate else stats.ttest_ind(*better, equal_var=False)
        interval = test.confidence_interval(1 - ERROR)
        low, high = (math.expm1(end) * 100 for end in interval)
        name = f"{runs} runs, {kpi['method']}"
        if runs < 12:
            assert kpi["method"] == ("student_t" if alternate else "welch_t"), name
            close(name + " p", kpi["p"], test.pvalue, 1e-6)
            # Where the correction alone decides, an interval may end at 0.
            if abs(kpi["low_percent"]) > 1e-9 and abs(kpi["high_percent"]) > 1e-9:
                close(name + " low", kpi["low_percent"], low, 1e-6)
                close(name + " high", kpi["high_percent"], high, 1e-6)
        else:
            assert kpi["method"] == "bootstrap_t", name
            width = (kpi["high_percent"] - kpi["low_percent"]) / (high - low)
            assert 0.75 < width < 1.5, f"{name}: {width} of the t interval's width"
        cases += 1
print(f"{cases} cases agree with scipy {__import__('scipy').__version__}")
