"""What every adapter of `gpuready bench` shares: the workloads, their inputs and digests, the
protocol of timing, and the answer. docs/bench.md states all of them; src/products/bench/ does the same in C++.

An adapter gives main() its name and a function that builds a Stack; nothing else is printed to
standard output than the answer, one JSON object on the last line.
"""
import json
import math
import os
import platform
import sys
import time

PROTOCOL = "gpuready.bench/1"

# Of each dtype the name in answers, and its other names (src/products/bench/run/request.cc).
DTYPES = {"fp32": ("float32", "f32", "float"), "tf32": (), "bf16": ("bfloat16",), "fp16": ("float16", "f16", "half")}
HEAD = 64  # elements of an attention head

# Numbers of the input streams. Digest vectors follow from kVectors on.
STREAMS = {"x": 1, "w1": 2, "b1": 3, "w2": 4, "b2": 5, "a": 6, "b": 7, "q": 8, "k": 9, "v": 10, "t": 11}
FIRST_VECTOR = 32
DIGESTS_Y, DIGESTS_Z = 3, 2
ATTENTION_ROWS = 2048  # that its digest covers


class Unavailable(Exception):
    """The stack is not here; the text says why and how to get it."""


class Unsupported(Unavailable):
    """The stack cannot do this workload, dtype or device, whatever is installed."""


def progress(step):
    """Tells that work goes on: whoever started us ends an adapter that is silent for too long."""
    print(f"{os.path.basename(sys.argv[0])}: {step}", file=sys.stderr, flush=True)


def _number(name, default, least=1):
    text = os.environ.get(name) or str(default)
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"{name}={text}: a whole number is wanted")
    if value < least:
        raise ValueError(f"{name}={text}: at least {least} is wanted")
    return value


_waited_ms = 0.0


def _wait_at_gate():
    """Waits until gpuready lets this adapter use the device. It prepares several adapters at the same time, and opens
    the gate of one only after the previous one has ended."""
    global _waited_ms
    gate = os.environ.pop("BENCH_GATE", "")
    if not gate:
        return
    begun = time.monotonic()
    progress("ready")
    os.write(int(gate), b"ready\n")
    if not os.read(int(gate), 1):
        os._exit(1)  # gpuready has ended
    _waited_ms = (time.monotonic() - begun) * 1e3


class Workload:
    """What the variables BENCH_* ask for, with the defaults of the contract."""

    def __init__(self):
        self.task = os.environ.get("BENCH_TASK") or "mlp"
        self.device = os.environ.get("BENCH_DEVICE") or "cuda"
        self.dtype = os.environ.get("BENCH_DTYPE") or ("fp16" if self.device == "cuda" else "fp32")
        self.dtype = next((dtype for dtype, others in DTYPES.items() if self.dtype in (dtype, *others)), self.dtype)
        if self.dtype not in DTYPES:
            raise ValueError(f"BENCH_DTYPE={self.dtype}: one of {', '.join(DTYPES)} is wanted")
        self.batch, self.hidden = _number("BENCH_BATCH", 64), _number("BENCH_HIDDEN", 2048)
        self.m, self.n, self.k = (_number(f"BENCH_{c}", d) for c, d in self._default_mnk())
        self.iters, self.warmup = _number("BENCH_ITERS", 80), _number("BENCH_WARMUP", 20, 0)
        self.seed = _number("BENCH_SEED", 1, 0)
        self.seconds = float(os.environ.get("BENCH_MAX_SECONDS") or 10)
        self.cold = _number("BENCH_COLD", 20, 0)
        # Another suite asks, to which a sample is the time of one iteration.
        self.single_iterations = not os.environ.get("BENCH_PROTOCOL")
        if self.task not in ("mlp", "gemm", "attention", "copy", "ternary"):
            raise ValueError(f"BENCH_TASK={self.task}: mlp, gemm, attention, copy or ternary is wanted")
        if self.task == "attention" and self.hidden % HEAD:
            raise ValueError(f"BENCH_HIDDEN={self.hidden}: attention wants a multiple of {HEAD}")

    def _default_mnk(self):
        wide = self.task == "copy"
        m = {"gemm": self.batch, "ternary": self.batch, "attention": 512, "copy": 8192}.get(self.task, 1)
        n, k = (8192, 1) if wide else (self.hidden, self.hidden)
        return ("M", m), ("N", n), ("K", k)

    @property
    def heads(self):
        return self.hidden // HEAD

    def shape(self):
        names = {"mlp": ("batch", "hidden"), "gemm": ("m", "n", "k"), "ternary": ("m", "n", "k"),
                 "copy": ("m", "n"), "attention": ("batch", "hidden", "m")}[self.task]
        return {name: getattr(self, name) for name in names}

    def flops(self):
        """Of one iteration."""
        b, h = self.batch, self.hidden
        return {"mlp": 16 * b * h * h + 2 * b * b * h,
                "gemm": 2 * self.m * self.n * self.k,
                "ternary": 2 * self.m * self.n * self.k,
                "attention": 4 * b * h * self.m * self.m,
                "copy": 0}[self.task]

    def elements(self):
        """What the contract calls tokens: batch x hidden elements, or those of the output."""
        return {"mlp": self.batch * self.hidden, "attention": self.batch * self.m * self.hidden}.get(
            self.task, self.m * self.n)

    # Inputs -------------------------------------------------------------------------------------

    def stream(self, number, count):
        """`count` bytes of a stream: the bytes, least significant first, of SplitMix64's outputs."""
        import numpy as np
        start = (self.seed * 256 + number) & ((1 << 64) - 1)
        parts = []
        for first in range(0, (count + 7) // 8, 1 << 22):  # pieces, so that big inputs need no second copy
            index = np.arange(first, min(first + (1 << 22), (count + 7) // 8), dtype=np.uint64)
            with np.errstate(over="ignore"):
                z = np.uint64(start) + (index + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
                z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                z ^= z >> np.uint64(31)
            parts.append(z.astype("<u8").view(np.uint8))
        return np.concatenate(parts)[:count]

    def uniform(self, number, shape, scale=1.0):
        """Odd multiples of scale/256 in (-scale, scale): exact in every dtype when scale is a power of 2."""
        import numpy as np
        count = int(np.prod(shape, dtype=np.int64))
        table = ((2 * np.arange(256) - 255) * (scale / 256)).astype(np.float32)
        return table[self.stream(number, count)].reshape(shape)

    def tensor(self, name):
        import numpy as np
        b, h = self.batch, self.hidden
        if self.task == "ternary" and name == "x":
            # Odd multiples of 1/128; each row begins with the largest, so that int8 holds it exactly.
            x = ((2 * (self.stream(STREAMS["x"], self.m * self.k) >> 1).astype(np.int32) - 127) / 128.0)
            x = x.astype(np.float32).reshape(self.m, self.k)
            x[:, 0] = 127 / 128
            return x
        if self.task == "ternary":
            t = self.stream(STREAMS["t"], self.n * self.k) % 3
            return (t.astype(np.float32) - 1).reshape(self.n, self.k)
        shape, scale = {
            ("mlp", "x"): ((b, h), 1.0),
            ("mlp", "w1"): ((4 * h, h), weight_scale(h)),
            ("mlp", "b1"): ((4 * h,), 0.25),
            ("mlp", "w2"): ((h, 4 * h), weight_scale(4 * h)),
            ("mlp", "b2"): ((h,), 0.25),
            ("gemm", "a"): ((self.m, self.k), 1.0),
            ("gemm", "b"): ((self.k, self.n), weight_scale(self.k)),
            ("copy", "x"): ((self.m, self.n), 1.0),
            ("attention", "q"): ((b, self.heads, self.m, HEAD), 4.0),
            ("attention", "k"): ((b, self.heads, self.m, HEAD), 2.0),
            ("attention", "v"): ((b, self.heads, self.m, HEAD), 1.0),
        }[self.task, name]
        return self.uniform(STREAMS[name], shape, scale)

    def inputs(self):
        """The tensors in the order in which the workload's function takes them, as float32. Import libraries before
        the first call, and use the device only after it: this waits at the gate."""
        names = {"mlp": ("x", "w1", "b1", "w2", "b2"), "gemm": ("a", "b"), "copy": ("x",),
                 "attention": ("q", "k", "v"), "ternary": ("x", "t")}[self.task]
        tensors = [self.tensor(name) for name in names]
        _wait_at_gate()
        return tensors

    # Digests ------------------------------------------------------------------------------------

    def vector(self, index, count):
        return self.uniform(FIRST_VECTOR + index, (count,)).astype("f8")

    def digest(self, outputs):
        """Sums of outputs against fixed vectors, in float64. `outputs`: y (mlp: y, z, mean) as arrays."""
        import numpy as np
        y = np.asarray(outputs[0], dtype=np.float32)
        y = y.reshape(-1, y.shape[-1])
        rows, columns = y.shape

        def project(matrix, left, right):
            total = 0.0
            for first in range(0, matrix.shape[0], 1024):  # float64 of a piece at a time
                piece = matrix[first:first + 1024].astype("f8")
                total += float(left[first:first + 1024] @ (piece @ right))
            return total

        def left(index):
            vector = self.vector(index, rows)
            if self.task == "attention":  # a sample of the rows: our reference does no more
                vector[np.arange(rows) % -(-rows // ATTENTION_ROWS) != 0] = 0
            return vector

        found = {"y": [project(y, left(2 * i), self.vector(2 * i + 1, columns))
                       for i in range(DIGESTS_Y)]}
        if self.task == "mlp":
            # Ones against the sums of W2's rows: where another GELU shows most.
            sums = self.tensor("w2").sum(axis=1, dtype="f8")
            found["activation"] = project(y, np.ones(rows), sums)
            if len(outputs) != 3:
                raise ValueError(f"mlp gives y, z and mean; this stack gives {len(outputs)} outputs")
            z = np.asarray(outputs[1], dtype=np.float32)
            if z.shape != (rows, rows):
                raise ValueError(f"mlp's second output is z = y yT with the shape {(rows, rows)}, not {z.shape}")
            found["z"] = [project(z, self.vector(8 + 2 * i, rows), self.vector(9 + 2 * i, rows))
                          for i in range(DIGESTS_Z)]
            found["mean"] = float(np.asarray(outputs[2], dtype="f8"))
        return found


def weight_scale(k):
    """2^(2-e) with the least e such that 4^e >= k: outputs of about 1."""
    e = 0
    while 4 ** e < k:
        e += 1
    return 2.0 ** (2 - e)


class Stack:
    """A stack that is ready to run. `step()` starts one iteration and gives its outputs; `wait(outputs)`
    returns when they are there, and is None where step() itself does; `to_numpy(outputs)` gives them as float32 arrays."""

    def __init__(self, step, to_numpy, wait=None, **facts):
        self.step, self.to_numpy, self.wait = step, to_numpy, wait
        self.flops = facts.pop("flops", None)        # of one iteration, where it does others
        self.events = facts.pop("events", None)      # makes an event with record() and elapsed_time()
        self.flush = facts.pop("flush", None)        # empties the caches of the device
        self.peak_memory = facts.pop("peak_memory", None)  # a function: bytes, as the stack tells
        self.compile_ms = facts.pop("compile_ms", None)
        self.facts = facts                           # told as they are: device_name, versions, settings, ...


# Timing -------------------------------------------------------------------------------------------

HOST_SAMPLE_MS, EVENT_SAMPLE_MS = 10.0, 1.0  # the least that one sample lasts
# A GPU at its power limit is the slower the hotter it is. So each stack starts from a GPU that had nothing to
# do for as long as the stack took to compile, whether it did so on the device or on the host.
LEAST_REST_S, MOST_REST_S = 1.0, 5.0
P95_SAMPLES = 200


def _host_block(stack, iterations, count):
    """`count` samples without a gap: where a stack works asynchronously, what follows is started before
    what was started is waited for. The first piece fills the queue and the last empties it: neither is a
    sample, for nothing was started beside them."""
    def piece():
        for _ in range(iterations):
            outputs = stack.step()
        return outputs

    if stack.wait is None:
        stamps = [time.perf_counter()]
        for _ in range(count):
            outputs = piece()
            stamps.append(time.perf_counter())
    else:
        stamps, before = [], piece()
        for _ in range(count + 1):
            outputs = piece()
            stack.wait(before)
            stamps.append(time.perf_counter())
            before = outputs
        stack.wait(outputs)
    return [(b - a) * 1e3 / iterations for a, b in zip(stamps, stamps[1:])], outputs


def _event_block(stack, iterations, count):
    """The same by events of the device; the first piece fills the queue and is not a sample."""
    marks = [stack.events() for _ in range(count + 1)]
    for _ in range(iterations):
        outputs = stack.step()
    for i, mark in enumerate(marks):
        mark.record()
        if i < count:
            for _ in range(iterations):
                outputs = stack.step()
    marks[-1].synchronize()
    return [a.elapsed_time(b) / iterations for a, b in zip(marks, marks[1:])], outputs


def _mean_and_deviation(values):
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, 0.0
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def percentile(ordered, share):
    """Linear between the two nearest values."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def measure(work, stack):
    block = _event_block if stack.events else _host_block
    least_ms = 0 if work.single_iterations else EVENT_SAMPLE_MS if stack.events else HOST_SAMPLE_MS
    out = {"timer": "device_events" if stack.events else "host_clock"}

    progress("first run")
    start = time.perf_counter()
    outputs = stack.step()
    if stack.wait:
        stack.wait(outputs)
    out["first_step_ms"] = (time.perf_counter() - start) * 1e3

    if work.device == "cuda":
        progress("rest")
        time.sleep(min(max((stack.compile_ms or 0) / 1e3, LEAST_REST_S), MOST_REST_S))

    # Warm-up: at least as much as was asked for, then until two means in a row agree within 1%.
    progress("warm-up")
    began, iterations, count, done, agreed, last = time.monotonic(), 1, 1, 0, 0, None
    while True:
        samples, _ = block(stack, iterations, count)
        done += iterations * (count + 1)
        mean, _ = _mean_and_deviation(samples)
        iterations = max(1, math.ceil(least_ms / max(mean, 1e-6)))
        count = max(1, min(10, int(250 / max(mean * iterations, 1e-6))))
        agreed = agreed + 1 if last is not None and abs(mean - last) <= 0.01 * last else 0
        last = mean
        steady = agreed >= 2
        if done >= work.warmup and (steady or time.monotonic() - began > work.seconds / 2):
            break
    out.update(warmup_iterations=done, warmup_steady=steady, iterations_per_sample=iterations)

    # Hot: at least ITERS samples, then until the relative error is 0.5%, or the noise stays what it is, or
    # time is over. Up to 200 samples, which p95 needs, where that takes less than a second more.
    progress("hot samples")
    hot, at, noise, began = [], [], [], time.monotonic()
    size = max(1, min(work.iters, int(500 / max(last * iterations, 1e-6)) or 1))
    while True:
        samples, outputs = block(stack, iterations, size)
        hot += samples
        at += [time.monotonic() * 1e3] * len(samples)
        mean, deviation = _mean_and_deviation(hot)
        noise.append(deviation / mean)
        spent = time.monotonic() - began
        if spent > work.seconds:
            out["stopped_by"] = "time_limit"
            break
        more_for_p95 = len(hot) < P95_SAMPLES and (P95_SAMPLES - len(hot)) * mean * iterations < 1000
        if len(hot) < work.iters or more_for_p95:
            continue
        if noise[-1] / math.sqrt(len(hot)) <= 0.005:
            out["stopped_by"] = "relative_error"
            break
        if len(noise) >= 4 and max(noise[-4:]) <= 1.05 * min(noise[-4:]):
            out["stopped_by"] = "plateau"
            break
        progress(f"{len(hot)} samples")
    out.update(samples_ms=hot, samples_at_ms=at)

    if stack.flush and work.cold:
        progress("cold samples")
        cold = []
        for _ in range(work.cold):
            stack.flush()
            if stack.events:
                a, b = stack.events(), stack.events()
                a.record()
                outputs = stack.step()
                b.record()
                b.synchronize()
                cold.append(a.elapsed_time(b))
            else:
                start = time.perf_counter()
                outputs = stack.step()
                if stack.wait:
                    stack.wait(outputs)
                cold.append((time.perf_counter() - start) * 1e3)
        out["cold_ms"] = cold
    return out, outputs


# The answer ---------------------------------------------------------------------------------------

def _say(answer):
    sys.stdout.flush()
    print(json.dumps(answer, allow_nan=False), flush=True)


def startup(setup, compile_ms, first_step, p50):
    """In ms, by the names of PyC's suite. What compiling costs: before the first iteration, where the stack tells
    that, and what the first takes longer than those that follow."""
    found = {"setup": setup, "first_step": first_step, "total": setup + first_step,
             "compile_overhead_estimate": (compile_ms or 0) + max(0, first_step - p50)}
    if compile_ms is not None:
        found["compile"] = compile_ms
    return found


def _run(name, build, mode):
    work = Workload()
    answer = {"protocol": PROTOCOL, "status": "ok", "backend": name, "mode": mode, "device": work.device,
              "task": work.task, "dtype": work.dtype, "shape": work.shape(), "batch": work.batch,
              "hidden": work.hidden, "iters": work.iters, "warmup": work.warmup}
    try:
        import numpy
    except ImportError:
        raise Unavailable("numpy is not installed: pip install numpy")
    begun = time.monotonic()
    stack = build(work)
    built = time.monotonic()
    timing, outputs = measure(work, stack)
    progress("digest")
    digest = work.digest(stack.to_numpy(outputs))
    hot = sorted(timing["samples_ms"])
    mean, _ = _mean_and_deviation(hot)
    p50 = percentile(hot, 0.5)
    answer.update(
        flops=work.flops() if stack.flops is None else stack.flops, digest=digest,
        latency_ms={"mean": mean, "p50": p50, "p95": percentile(hot, 0.95),
                    "min": hot[0], "max": hot[-1]},
        throughput_tokens_per_sec=work.elements() / mean * 1e3,
        peak_memory_bytes=int(stack.peak_memory()) if stack.peak_memory else host_peak_bytes(),
        startup_ms=startup((built - begun) * 1e3 - _waited_ms, stack.compile_ms, timing.pop("first_step_ms"), p50),
        **timing, **stack.facts)
    answer["versions"] = {"python": platform.python_version(), "numpy": numpy.__version__,
                          **stack.facts.get("versions", {})}
    return answer


def installed(*beginnings):
    """Versions of the distributions whose names begin so, such as the CUDA libraries nvidia-..."""
    from importlib import metadata
    found = {}
    for distribution in metadata.distributions():
        name = (distribution.metadata["Name"] or "").lower().replace("_", "-")
        if name.startswith(beginnings):
            found[name] = distribution.version
    return found


def host_peak_bytes():
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(name, build, mode="native"):
    """Runs the adapter; never returns."""
    code = 0
    try:
        answer = _run(name, build, mode)
        _say(answer)
    except Unavailable as reason:
        _say({"protocol": PROTOCOL, "status": "unavailable", "backend": name, "reason": str(reason),
              "supported": not isinstance(reason, Unsupported)})
    except Exception as error:  # whatever a stack throws is its answer
        import traceback
        traceback.print_exc()
        _say({"protocol": PROTOCOL, "status": "error", "backend": name,
              "error": f"{type(error).__name__}: {error}"[:2000]})
        code = 1
    sys.stdout.flush()
    os._exit(code)  # libraries' threads and destructors are not waited for
