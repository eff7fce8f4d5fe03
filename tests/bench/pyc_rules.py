"""How PyC's GPU suite reads the answer of an adapter, sums up its repeats and works figures out of them: its rules as
of commit fdf1563, rewritten from what they do. pyc_contract.py holds gpuready to them; pyc_suite.sh holds the
suite itself to them."""
import json
import math
import shlex
import statistics
import subprocess

LATENCIES = ("mean", "p50", "p95", "min", "max")
STARTS = ("setup", "first_step", "total", "compile_overhead_estimate")


def answer_of(command, env):
    """The last line of standard output that is JSON; a program without output has failed."""
    ran = subprocess.run(shlex.split(command), env=env, capture_output=True, text=True)
    for text in [ran.stdout.strip(), *reversed(ran.stdout.strip().splitlines())]:
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            pass
    return {"status": "error", "error": ran.stderr.strip() or "no JSON"}


def summed_up(answers):
    """Medians over repeats, the most memory, and the figures of each repeat."""
    failed = [answer for answer in answers if answer.get("status") != "ok"]
    if failed:
        return failed[0]
    for same in ("mode", "backend", "device"):
        assert len({answer[same] for answer in answers}) == 1, same
    out = dict(answers[0])
    out["latency_ms"] = {key: statistics.median(float(answer["latency_ms"][key]) for answer in answers)
                         for key in LATENCIES}
    out["throughput_tokens_per_sec"] = statistics.median(answer["throughput_tokens_per_sec"] for answer in answers)
    out["peak_memory_bytes"] = max(int(answer["peak_memory_bytes"]) for answer in answers)
    out["repeat_mean_ms_values"] = [answer["latency_ms"]["mean"] for answer in answers]
    out["startup_ms"] = {key: statistics.median(answer["startup_ms"].get(key, 0.0) for answer in answers)
                         for key in STARTS}
    return out


def derived(adapter):
    """What its report prints of an adapter that is ok, from the figures in its document."""
    latency, startup = adapter["latency_ms"], adapter.get("startup_ms", {})
    mean, batch, hidden = latency["mean"], adapter.get("batch", 0), adapter.get("hidden", 0)

    def spread(values):
        finite = [float(value) for value in values if math.isfinite(float(value))]
        deviation = statistics.pstdev(finite) if len(finite) > 1 else 0.0
        return deviation, deviation / statistics.mean(finite) * 100 if deviation else 0.0

    flops = 16 * batch * hidden * hidden + 2 * batch * batch * hidden
    gib = adapter.get("peak_memory_bytes", 0) / 2**30
    jitter = max(0.0, latency["p95"] - latency["p50"])
    sample_ms, sample_percent = spread(adapter["samples_ms"])
    repeat_ms, repeat_percent = spread(adapter["repeat_mean_ms_values"])
    total, compiling = startup.get("total", 0.0), startup.get("compile_overhead_estimate", 0.0)
    return {
        "tokens_per_iter": batch * hidden,
        "tokens_total": batch * hidden * adapter["iters"],
        "jitter_ms_p95_minus_p50": jitter,
        "jitter_pct_of_p50": jitter / latency["p50"] * 100,
        "sample_stdev_ms": sample_ms,
        "sample_cv_pct": sample_percent,
        "repeat_mean_stdev_ms": repeat_ms,
        "repeat_mean_cv_pct": repeat_percent,
        "peak_memory_gib": gib,
        "throughput_tokens_per_sec_per_peak_gib": adapter["throughput_tokens_per_sec"] / gib if gib else 0.0,
        "estimated_flops_per_iter": flops,
        "estimated_tflops_per_sec": flops / (mean / 1e3) / 1e12,
        "startup_total_ms": total,
        "compile_overhead_ms_estimate": compiling,
        "compile_overhead_pct_of_mean_latency": compiling / mean * 100,
        "compile_overhead_pct_of_startup": compiling / total * 100 if total else 0.0,
    }


def check_derived(adapter):
    """The document's own figures are those of the rules; one that it leaves out was not measured."""
    wanted, told = derived(adapter), adapter["derived"]
    assert set(told) <= set(wanted), sorted(set(told) - set(wanted))
    for name, value in wanted.items():
        if name in told:
            assert math.isclose(told[name], value, rel_tol=1e-6, abs_tol=1e-9), (name, told[name], value)
        else:
            assert value == 0, (name, value)
