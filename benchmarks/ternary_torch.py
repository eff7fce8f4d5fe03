#!/usr/bin/env python3
"""The public CUDA interface on torch's current stream: bits against the CPU, capture into torch's graphs, and times
beside torch's own. Vectors are cold: graphs go round at least 240 MB of weights. Matrices are compared with
cuBLASLt's int8 product (torch._int_mm) and its fp8 product (torch._scaled_mm, e4m3, one scale a tensor, fast sums), with
quantising of activations in all.
Usage: ternary_torch.py [vectors|matrices|bits|pool]..., with the package `gpuready` (packaging/python_package.py FOLDER
writes it) in PYTHONPATH, and the library in GPUREADY_TERNARY_LIBRARY"""
import ctypes as c
import sys
import time

import torch
from gpuready.ternary import CudaEngine, Engine, Packed
from gpuready.ternary._library import library

VECTORS = [(2560, 2560), (13824, 2560), (2560, 6912), (20480, 3200), (5120, 27648), (55296, 5120), (8192, 8192), (28672, 8192)]
MATRICES = [(m, n, k) for m in (512, 4096)
            for n, k in ((2560, 2560), (13824, 2560), (8192, 8192), (28672, 8192), (8192, 28672), (4096, 14336))]
TYPES = torch.float32, torch.float16, torch.bfloat16


def random_packed(n, k):
    """I2_S bytes of random codes, made on the GPU."""
    codes = torch.randint(0, 3, (n * k // 4, 4), dtype=torch.uint8, device="cuda")
    packed = (codes[:, 0] << 6) | (codes[:, 1] << 4) | (codes[:, 2] << 2) | codes[:, 3]
    return Packed.from_bytes("i2_s-x86", n, k, packed.cpu().numpy().tobytes() + bytes(c.c_float(0.75)) + bytes(28))


class Layer:
    def __init__(self, engine, packed, m, copies=1):
        self.engine, self.m = engine, m
        self.weights = [engine.load(packed) for _ in range(copies)]
        self.k = self.weights[0].shape[1]
        self.room = engine.activations(m, self.k)
        engine.prepare(self.weights[0], m)
        self.workspace = torch.empty(engine.workspace_bytes(self.weights[0], m), dtype=torch.uint8, device="cuda")

    def where(self):
        return {"stream": torch.cuda.current_stream().cuda_stream}

    def quantise(self, x):
        self.engine.quantise(x, self.room, self.k, **self.where())

    def multiply(self, y, copy=0):
        self.engine.multiply_quantised(self.weights[copy], self.room, self.m, y, workspace=self.workspace, **self.where())

    def values(self, x, y, copy=0):
        self.engine.multiply(self.weights[copy], x, y, self.room, workspace=self.workspace, **self.where())

    def close(self):
        torch.cuda.synchronize()
        self.room.close()
        for weights in self.weights:
            weights.close()


def graph_us(work, calls, samples=7):
    """Microseconds of one of the `calls` that work() makes, by replay of a graph: the median."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def once(replays):
        start.record()
        for _ in range(replays):
            graph.replay()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1e3 / replays
    replays = max(1, min(100, int(4000 / max(once(1), 1e-3))))
    return sorted(once(replays) for _ in range(samples))[samples // 2] / calls


def bits(engine):
    """Every float type and output, eager and from a graph, against the engine that is on the CPU."""
    cpu, wrong, checked = Engine("cpu"), 0, 0
    for n, k in ((2560, 2560), (390, 1280), (4096, 4096)):
        packed = random_packed(n, k)
        on_cpu = cpu.load(packed)
        for m in (1, 2, 7, 16, 17, 64, 130, 512):
            layer = Layer(engine, packed, m)
            for dtype in TYPES:
                x = torch.randn(m, k, device="cuda").to(dtype)
                expected = cpu.multiply(on_cpu, x.cpu(), torch.empty(m, n))
                for out in (torch.float32, torch.bfloat16):
                    eager, split, replayed = (torch.zeros(m, n, dtype=out, device="cuda") for _ in range(3))
                    layer.values(x, eager)
                    layer.quantise(x)
                    layer.multiply(split)
                    torch.cuda.synchronize()
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        layer.values(x, replayed)
                    replayed.zero_()
                    graph.replay()
                    for y in (eager, split, replayed):
                        checked += 1
                        wrong += not torch.equal(y.cpu(), expected.to(out))
            layer.close()
    print(f"bits: {checked} products of every type, eager and replayed, {wrong} differ from the CPU's")


def vectors(engine):
    print("N x K: microseconds of a vector, cold, out bf16: from int8, from f32, from bf16")
    for n, k in VECTORS:
        packed = random_packed(n, k)
        copies = max(2, -(-240_000_000 // (n * k // 4)))
        layer = Layer(engine, packed, 1, copies)
        y, x = torch.empty(1, n, dtype=torch.bfloat16, device="cuda"), torch.randn(1, k, device="cuda")
        half = x.bfloat16()
        layer.quantise(x)
        times = [graph_us(lambda: [layer.multiply(y, i) for i in range(copies)], copies),
                 graph_us(lambda: [layer.values(x, y, i) for i in range(copies)], copies),
                 graph_us(lambda: [layer.values(half, y, i) for i in range(copies)], copies)]
        print(f"{n} x {k}: " + " ".join(f"{us:.2f}" for us in times), flush=True)
        layer.close()


def matrices(engine):
    print("M x N x K: microseconds, in and out bf16, quantising in all: ours, cuBLASLt int8, ratio, cuBLASLt fp8, ratio; "
          "without quantising the same")
    fp8 = torch.float8_e4m3fn
    # What torch would do around its int8 product, in one kernel each; each shape is compiled.
    torch._dynamo.config.recompile_limit = 2 * len(MATRICES)
    @torch.compile(dynamic=False)
    def quantised(x):
        limit = x.abs().amax(1, keepdim=True).float().clamp(min=1e-5)
        return (x.float() * (127 / limit)).round().clamp(-128, 127).to(torch.int8), limit / 127

    @torch.compile(dynamic=False)
    def scaled(sums, steps):
        return (sums.float() * (steps * 0.75)).bfloat16()

    @torch.compile(dynamic=False)
    def narrowed(x):
        step = x.abs().amax().float().clamp(min=1e-5) / 448
        return (x.float() / step).to(fp8), step
    for m, n, k in MATRICES:
        packed = random_packed(n, k)
        layer = Layer(engine, packed, m)
        x = torch.randn(m, k, device="cuda").bfloat16()
        y = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
        w = torch.randint(-1, 2, (n, k), dtype=torch.int8, device="cuda").t()  # columns follow each other
        w8, scale = w.to(torch.bfloat16).t().contiguous().to(fp8).t(), torch.tensor(0.75, device="cuda")

        def theirs():
            q, steps = quantised(x)
            return scaled(torch._int_mm(q, w), steps)

        def multiply_fp8(q, step):
            return torch._scaled_mm(q, w8, scale_a=step, scale_b=scale, out_dtype=torch.bfloat16, use_fast_accum=True)
        theirs()
        q, (q8, step) = quantised(x)[0], narrowed(x)
        layer.quantise(x)

        def row(*works):
            ours, *others = (graph_us(lambda: [work() for _ in range(10)], 10) for work in works)
            return f"{ours:.1f} " + " ".join(f"{other:.1f} {other / ours:.2f}" for other in others)
        both = row(lambda: layer.values(x, y), theirs, lambda: multiply_fp8(*narrowed(x)))
        bare = row(lambda: layer.multiply(y), lambda: torch._int_mm(q, w), lambda: multiply_fp8(q8, step))
        print(f"{m} x {n} x {k}: {both}; {bare}", flush=True)
        layer.close()


def pool(_engine):
    """The library's pool of device memory, on torch's context and streams."""
    held, at = c.c_void_p(), c.c_void_p()

    def call(name, *arguments):
        status = library()[f"gpuready_cuda_pool_{name}"](*arguments)
        if status != 0:
            raise RuntimeError(f"{name}: {status}")
    call("create", None, c.c_uint64(64 << 20), c.c_uint64(0), c.byref(held))
    stream = c.c_void_p(torch.cuda.Stream().cuda_stream)

    def once(size):
        call("allocate", held, c.c_size_t(size), stream, c.byref(at))
        address = at.value
        call("free", held, at)
        return address
    first = once(20 << 20)
    start = time.perf_counter()
    same = all(once((20 << 20) - 4096 * i) == first for i in range(100))
    took = (time.perf_counter() - start) / 100 * 1e6
    refused = library().gpuready_cuda_pool_allocate(held, c.c_size_t(80 << 20), stream, c.byref(at))
    released = c.c_uint64()
    call("trim", held, c.c_uint64(0), c.byref(released))
    library().gpuready_cuda_pool_destroy(held)
    print(f"pool on torch's context: the same block again: {same}, {took:.1f} us each; beyond the limit: status {refused}; "
          f"{released.value >> 20} MiB given back")


def main():
    torch.manual_seed(1)
    torch.zeros(1, device="cuda")
    engine = CudaEngine()
    name = torch.cuda.get_device_name()
    print(name, "torch", torch.__version__)
    for part in sys.argv[1:] or ["bits", "pool", "vectors", "matrices"]:
        {"bits": bits, "vectors": vectors, "matrices": matrices, "pool": pool}[part](engine)


if __name__ == "__main__":
    main()
