"""Ternary (1.58-bit) weights: quantised, packed and multiplied in this process, with numpy arrays and torch tensors.

    from gpuready import ternary
    packed = ternary.Packed.from_values(values)            # a matrix of float32, float16 or bfloat16
    with ternary.Engine() as engine, engine.load(packed) as weights:
        y = engine.multiply(weights, x)

The library is loaded at the first call: the file that GPUREADY_TERNARY_LIBRARY names, else libgpuready-ternary.so of this
package or system, else libgpuready.so. `gpuready.ternary.torch` has a torch operator and a module. inspect(), convert(),
verify() and bench() run the program's commands instead, which needs no library.
"""
from ._commands import bench, convert, inspect, verify
from ._cuda import CudaActivations, CudaEngine, CudaWeights
from ._engine import Engine, Gguf, Packed, Tensor, Weights
from ._library import Status, TernaryError

__all__ = ["CudaActivations", "CudaEngine", "CudaWeights", "Engine", "Gguf", "Packed", "Status", "Tensor", "TernaryError",
           "Weights", "bench", "convert", "inspect", "verify"]
