#!/usr/bin/env python3
"""Ternary weights in Python: numpy arrays and torch tensors are multiplied in place, on the CPU and on torch's current
stream of a GPU. `gpuready` is the package of the wheel; GPUREADY_TERNARY_LIBRARY names another library than its own."""
import tempfile

import numpy
from gpuready import ternary

ROWS, COLS = 3, 256
values = numpy.array([0.5 * (i % 3 - 1) for i in range(ROWS * COLS)], numpy.float32).reshape(ROWS, COLS)
x = numpy.array([i // 2 for i in range(COLS)], numpy.float32)

with ternary.Engine() as engine, tempfile.TemporaryDirectory() as folder:
    ternary.Packed.from_values(values).save(folder + "/weights")
    weights = engine.load(ternary.Packed.open(folder + "/weights"))  # a mapped file is multiplied without a copy
    print("numpy:", *(f"{y:.2f}" for y in engine.multiply(weights, x)))
    print("kernel:", engine.kernel)

try:
    import torch
    from gpuready.ternary.torch import TernaryLinear
except ImportError:
    print("torch: not installed here")
else:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    layer = TernaryLinear.from_float(torch.from_numpy(values)).to(device)  # or of a torch.nn.Linear
    print(f"torch on {device}:", *(f"{y:.2f}" for y in layer(torch.from_numpy(x).to(device)).tolist()))
