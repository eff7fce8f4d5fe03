#!/usr/bin/env python3
"""Triton: a tiled product with bias and GELU in its epilogue, tuned over a few tile sizes. Tensors, the mean
and the timing are PyTorch's."""
import os
import sys

# An isolated Python does not look beside the script.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import torch_stack  # noqa: E402
from gpuready_bench import Unavailable, Unsupported, main  # noqa: E402


try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

if triton:
    CONFIGS = [triton.Config({"BM": m, "BN": n, "BK": k}, num_warps=w, num_stages=s)
               for m, n, k, w, s in ((64, 64, 64, 4, 4), (64, 128, 64, 4, 4), (128, 128, 64, 8, 3),
                                     (128, 256, 64, 8, 3), (32, 64, 128, 4, 4), (64, 32, 128, 4, 5))]

    @triton.autotune(configs=CONFIGS, key=["m", "n", "k"])
    @triton.jit
    def product(a, b, bias, c, m, n, k, stride_bk, stride_bn, BIAS: tl.constexpr, GELU: tl.constexpr,
                PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
        tiles_m = tl.cdiv(m, BM)
        rows = tl.program_id(0) % tiles_m * BM + tl.arange(0, BM)
        columns = tl.program_id(0) // tiles_m * BN + tl.arange(0, BN)
        depth = tl.arange(0, BK)
        a_at = a + rows[:, None] * k + depth[None, :]
        b_at = b + depth[:, None] * stride_bk + columns[None, :] * stride_bn
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for first in range(0, k, BK):
            left = tl.load(a_at, mask=(rows[:, None] < m) & (depth[None, :] + first < k), other=0.0)
            right = tl.load(b_at, mask=(columns[None, :] < n) & (depth[:, None] + first < k), other=0.0)
            total = tl.dot(left, right, total, input_precision=PRECISION)
            a_at += BK
            b_at += BK * stride_bk
        if BIAS:
            total += tl.load(bias + columns, mask=columns < n, other=0.0).to(tl.float32)[None, :]
        if GELU:
            total = 0.5 * total * (1.0 + tl.math.erf(total * 0.7071067811865476))
        tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty),
                 mask=(rows[:, None] < m) & (columns[None, :] < n))


def build(work):
    torch = torch_stack.load(work)
    if triton is None:
        raise Unavailable("Triton is not installed: pip install triton")
    if work.device != "cuda":
        raise Unsupported("Triton compiles for GPUs")
    if work.task not in ("mlp", "gemm", "ternary"):
        raise Unsupported(f"this adapter has no {work.task}")
    if work.task == "mlp" and work.dtype == "tf32":
        raise Unsupported("Triton cuts the factors of tf32 products off instead of rounding them: measured on an H200, its "
                          "output is off by 3.6e-4 of its value")
    precision = "tf32" if work.dtype == "tf32" else "ieee"

    def multiply(a, b, transposed, bias=None, gelu=False):
        (m, k), n = a.shape, b.shape[0] if transposed else b.shape[1]
        c = torch.empty((m, n), device=a.device, dtype=a.dtype)
        by_k, by_n = (1, k) if transposed else (n, 1)
        grid = lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)  # noqa: E731
        product[grid](a, b, bias if bias is not None else a, c, m, n, k, by_k, by_n, BIAS=bias is not None,
                      GELU=gelu, PRECISION=precision)
        return c

    def mlp(x, w1, b1, w2, b2):
        y = multiply(multiply(x, w1, True, b1, True), w2, True, b2)
        z = multiply(y, y, True)
        return y, z, z.mean()

    function = {"mlp": mlp, "gemm": lambda a, b: (multiply(a, b, False),),
                "ternary": lambda x, t: (multiply(x, t, True),)}[work.task]
    return torch_stack.stack(work, torch, function, versions={"triton": triton.__version__}, compiled=True)


main("triton", build)
