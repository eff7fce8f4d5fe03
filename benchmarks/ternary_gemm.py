#!/usr/bin/env python3
"""Ternary matrix products against cuBLAS' bf16 products of the same shapes, in one run.

    ternary_gemm.py BENCH_TERNARY_GEMM DEVICE MxNxK...

Needs PyTorch with CUDA. cuBLAS is timed before and after, by replays of a graph of 20 products
between CUDA events, as the median of seven batches, which is how the other program times itself;
the quicker of the two counts.
"""
import statistics
import subprocess
import sys

IN_GRAPH = 20


def cublas_us(torch, m, n, k):
    x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
    out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)

    def multiply():
        torch.mm(x, w.t(), out=out)

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            multiply()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(IN_GRAPH):
            multiply()

    def batch(count):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(count):
            graph.replay()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1e3 / (count * IN_GRAPH)

    count = int(min(max(8e3 / batch(1) / IN_GRAPH, 1), 40))
    return statistics.median(batch(count) for _ in range(7))


def main():
    import torch
    program, device, shapes = sys.argv[1], sys.argv[2], sys.argv[3:]
    before = {s: cublas_us(torch, *map(int, s.split("x"))) for s in shapes}
    torch.cuda.empty_cache()
    lines = subprocess.run([program, device, "time", *shapes], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    after = {s: cublas_us(torch, *map(int, s.split("x"))) for s in shapes}
    print(f"{'MxNxK':>16} {'kernel':>10}    tile split blocks | product  quant   both us | TOPS "
          f"| cuBLAS us (before/after) | x product, x both")
    for line in lines:
        shape, kernel, tile, split, blocks, product, quantise, both, tops = line.split()
        best = min(before[shape], after[shape])
        print(f"{shape:>16} {kernel:>10} {tile:>7} {split:>5} {blocks:>6} | {product:>8} "
              f"{quantise:>6} {both:>8} | {tops:>4} | {before[shape]:8.1f} {after[shape]:8.1f} | "
              f"{best / float(product):5.2f} {best / float(both):5.2f}")


main()
