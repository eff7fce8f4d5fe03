#!/usr/bin/env python3
"""Does `gpuready bench` measure what NVBench measures? Both time the product of gpuready's own kernel, the
same PTX through the same driver, in turns. On a machine with an NVIDIA GPU:
    tests/bench/nvbench.py GPUREADY BENCH_PTX [FOLDER_FOR_RESULTS]
BENCH_PTX is build/release/ptx/bench_sm_50.ptx. Needs the package cuda-bench of the Python registry.
NVBench's batches are launches in a row, as our hot samples are; its isolated launches come after a flush of
the L2 cache, as our cold ones. Exit 1: the hot times differ by more than 1%."""
import array
import ctypes
import json
import os
import statistics
import subprocess
import sys

import cuda.bench as bench

SHAPES = [(512, 2048, 2048), (2048, 2048, 2048)]  # M, N, K
TURNS = 3
THREADS, TILE = 256, 64
FP16 = 2  # kernel_abi/bench_params.h

binary, ptx = os.path.realpath(sys.argv[1]), open(sys.argv[2], "rb").read() + b"\0"
folder = sys.argv[3] if len(sys.argv) > 3 else "."
driver = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    code = getattr(driver, name)(*arguments)
    if code != 0:
        raise RuntimeError(f"{name}: CUDA driver error {code}")


class Params(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("a", "b", "bias", "c", "m", "n", "k")] + [
        ("dtype", ctypes.c_uint32), ("b_transposed", ctypes.c_uint32), ("gelu", ctypes.c_uint32)]


def buffer(size):
    address = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
    # The operands' values in fp16: what is multiplied decides the power that it takes.
    values = array.array("H", (0x3400 + i * 2654435761 % 1024 + (i % 2 << 15) for i in range(1 << 16))).tobytes()
    for at in range(0, size, len(values)):
        call("cuMemcpyHtoD_v2", ctypes.c_uint64(address.value + at), values, ctypes.c_size_t(min(len(values), size - at)))
    return address.value


def product(state):
    m, n, k = (state.get_int64(axis) for axis in "MNK")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuModuleLoadData", ctypes.byref(module), ptx)
    call("cuModuleGetFunction", ctypes.byref(function), module, b"gpuready_bench_gemm")
    params = Params(buffer(2 * m * k), buffer(2 * k * n), 0, buffer(2 * m * n), m, n, k, FP16, 0, 0)
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(params))
    blocks = -(-m // TILE) * -(-n // TILE)

    def launch(at):
        call("cuLaunchKernel", function, blocks, 1, 1, THREADS, 1, 1, 0,
             ctypes.c_void_p(at.get_stream().addressof()), pointers, None)

    state.exec(launch)
    for address in (params.a, params.b, params.c):
        call("cuMemFree_v2", ctypes.c_uint64(address))


def theirs(shape, turn):
    """Seconds of a launch: batched, isolated. A process of its own, as ours is."""
    path = os.path.join(folder, f"nvbench_{shape[0]}_{turn}.json")
    command = [sys.executable, __file__, binary, sys.argv[2], "--nvbench", *map(str, shape), path]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"nvbench.py: NVBench failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    summaries = json.load(open(path))["benchmarks"][0]["states"][0]["summaries"]

    def value(tag):
        found = [s for s in summaries if s["tag"] == tag]
        return float([d for d in found[0]["data"] if d["name"] == "value"][0]["value"])

    return value("nv/batch/time/gpu/mean"), value("nv/cold/time/gpu/mean")


def ours(shape, turn):
    path = os.path.join(folder, f"gpuready_{shape[0]}_{turn}.json")
    m, n, k = map(str, shape)
    subprocess.run([binary, "bench", "run", "--task", "gemm", "--m", m, "--n", n, "--k", k, "--dtype", "fp16",
                    "--device", "cuda", "--stack", "gpuready", "--repeats", "1", "--max-seconds", "2", "--no-check",
                    "--tag", f"nvbench_{m}_{turn}", "--replace", "--quiet", "--json=" + path],
                   check=True, stdout=subprocess.DEVNULL, cwd=folder)
    repeat = json.load(open(path))["run"]["stacks"][0]["repeats"][0]
    return statistics.mean(repeat["samples_ns"]) / 1e9, statistics.mean(repeat["cold_samples_ns"]) / 1e9


def main():
    far = False
    for shape in SHAPES:
        pairs = [(ours(shape, turn), theirs(shape, turn)) for turn in range(TURNS)]
        for kind, name in enumerate(("in a row", "isolated")):
            a = statistics.median(pair[0][kind] for pair in pairs)
            b = statistics.median(pair[1][kind] for pair in pairs)
            print(f"{shape[0]}x{shape[1]}x{shape[2]} {name:9} gpuready {a * 1e6:9.2f} us, NVBench {b * 1e6:9.2f} us: "
                  f"{a / b:.4f}   turns {' '.join(f'{p[0][kind] / p[1][kind]:.4f}' for p in pairs)}")
            far |= kind == 0 and abs(a / b - 1) > 0.01
    print("FAILED: more than 1% apart" if far else "ok: within 1%")
    sys.exit(far)


if "--nvbench" in sys.argv:
    sizes = sys.argv[sys.argv.index("--nvbench") + 1:]
    registered = bench.register(product)
    for axis, size in zip("MNK", sizes):
        registered.add_int64_axis(axis, [int(size)])
    bench.run_all_benchmarks([sys.argv[0], "--devices", "0", "--json", sizes[3]])
else:
    main()
