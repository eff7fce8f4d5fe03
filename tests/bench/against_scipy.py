#!/usr/bin/env python3
"""Holds the p-values and intervals of `gpuready bench compare` against scipy's own tests.

usage: against_scipy.py GPUREADY. Exit 77: scipy is not installed (python3-scipy, or pip).
"""
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy
    from scipy import stats
except ImportError:
    print("SKIPPED: no scipy")
    sys.exit(77)

GPUREADY = sys.argv[1]
WRITE = pathlib.Path(__file__).resolve().parent.parent / "cli" / "bench_runs.py"
ERROR = 0.008 * 0.9  # docs/bench.md: the error of all, and the share of p50
TREND_SHARE, PAIRS_SHARE = 0.9, 0.1  # of it, where runs alternate


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


def beside_trend(candidate, base, when_candidate, when_base):
    """The interval and p of the difference beside a polynomial in time, by least squares."""
    pairs = len(base)
    degree = 0 if pairs < 3 else 1 if pairs < 5 else 2
    when = numpy.array(when_candidate + when_base, float)
    when = (when - when.mean()) / numpy.abs(when - when.mean()).max()
    columns = [when**power for power in range(degree + 1)]
    columns.append(numpy.array([1.0] * pairs + [0.0] * pairs))
    matrix, values = numpy.stack(columns, 1), numpy.array(candidate + base)
    fit = numpy.linalg.lstsq(matrix, values, rcond=None)[0]
    left = (values - matrix @ fit) ** 2
    half = (len(values) - matrix.shape[1]) / 2  # degrees of a side
    sides = left[:pairs].sum() / half, left[pairs:].sum() / half
    degrees = half * sum(sides) ** 2 / (sides[0] ** 2 + sides[1] ** 2)  # Satterthwaite
    error = math.sqrt(sum(sides) / 2 * numpy.linalg.inv(matrix.T @ matrix)[-1, -1])

    def interval(alpha):
        half = stats.t.isf(alpha / 2, degrees) * error
        return fit[-1] - half, fit[-1] + half
    return interval, 2 * stats.t.sf(abs(fit[-1]) / error, degrees)


random.seed(5)
methods = set()
cases = 0
# Noise of each run alone, or what two runs of a pair share: then pairs are the surer.
for runs, shared in [(n, 0) for n in (2, 3, 5, 8, 11, 12, 20)] + [(8, 100)]:
    for alternate in (True, False):
        pairs = [random.gauss(0, shared) for _ in range(runs)]
        base = [random.gauss(1000, 10) + pair for pair in pairs]
        candidate = [random.gauss(985, 15) + pair for pair in pairs]
        # Alternating, or all at one time: then no order is known.
        seconds = [(2 * i, 2 * i + 1) if i % 2 else (2 * i + 1, 2 * i) for i in range(runs)]
        if not alternate:
            seconds = [(0, 0)] * runs
        with tempfile.TemporaryDirectory() as folder:
            kpi = p50(folder, [(s[0], v) for s, v in zip(seconds, base)],
                      [(s[1], v) for s, v in zip(seconds, candidate)])
        better = [-math.log(v) for v in candidate], [-math.log(v) for v in base]
        test = stats.ttest_rel(*better) if alternate else stats.ttest_ind(*better, equal_var=False)
        ends, p, share = (lambda alpha: test.confidence_interval(1 - alpha)), test.pvalue, 1
        method = "student_t" if alternate else "welch_t"
        if alternate:
            share = PAIRS_SHARE
            trend, trend_p = beside_trend(*better, [s[1] for s in seconds], [s[0] for s in seconds])

            def width(of, part):
                low, high = of(0.01 * part)
                return high - low
            if width(trend, TREND_SHARE) <= width(ends, PAIRS_SHARE):
                ends, p, share, method = trend, trend_p, TREND_SHARE, "trend_adjusted_t"
        low, high = (math.expm1(end) * 100 for end in ends(ERROR * share))
        methods.add(kpi["method"])
        name = f"{runs} runs, {kpi['method']}"
        assert kpi["method"] == method, f"{name}, and {method} is the surer"
        # Intervals of few runs end where no machine goes.
        if p / share < 1 and abs(kpi["p"] - p / share) > 1e-6 * p:
            assert runs < 3, name
        if abs(kpi["low_percent"]) > 1e-9 and abs(kpi["high_percent"]) > 1e-9 and runs > 2:
            close(name + " low", kpi["low_percent"], low, 1e-6)
            close(name + " high", kpi["high_percent"], high, 1e-6)
        cases += 1
assert methods == {"student_t", "trend_adjusted_t", "welch_t"}, methods
print(f"{cases} cases agree with scipy {__import__('scipy').__version__}")
