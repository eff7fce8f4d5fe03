"""Ternary products on a CUDA context and streams of the caller's: device memory in, device memory out, asynchronous.
What ternary_cuda.h says of captures, threads and lifetimes holds here."""
from __future__ import annotations

import ctypes as c
from typing import Any, Dict, Optional, Tuple

from ._arrays import CUDA, FLOATS, OUTPUTS, addend, rows_of, view
from ._engine import LoadedWeights, Packed
from ._library import Handle, call, made, text_of


class CudaWeights(LoadedWeights):
    _kind = "cuda_weights"
    _number = c.c_size_t

    @property
    def nbytes(self) -> int:
        """Of the device's memory."""
        return self._info()[2]


class CudaActivations(Handle):
    """Room for quantised activations. Work on one room must follow each other."""
    _kind = "cuda_activations"


class CudaEngine(Handle):
    """Arrays are torch tensors, or others with __dlpack__, on this device; `stream` is a CUDA stream's address (0: the
    legacy default stream) on which the arrays are used."""
    _kind = "cuda"

    def __init__(self, context: Optional[int] = None):
        """`context` is a CUcontext; None: the calling thread's current one."""
        super().__init__(made("cuda_create", context))

    def load(self, *stacked: Packed) -> CudaWeights:
        """Packed weights, whose rows follow each other if they are several."""
        return CudaWeights(made("cuda_load", self, stacked, len(stacked)), self)

    def activations(self, rows: int, cols: int) -> CudaActivations:
        return CudaActivations(made("cuda_activations_create", self, rows, cols), self)

    def workspace_bytes(self, weights: CudaWeights, rows: int) -> int:
        """That a product needs in addition to its operands."""
        size = c.c_size_t()
        call("cuda_workspace", self, *weights.shape, rows, c.byref(size))
        return size.value

    def prepare(self, weights: CudaWeights, rows: int) -> None:
        """Loads the code of such a product, before a capture."""
        call("cuda_prepare", self, *weights.shape, rows)

    def kernel(self, weights: CudaWeights, rows: int) -> str:
        return text_of("cuda_kernel", self, *weights.shape, rows)

    def quantise(self, x: Any, into: CudaActivations, cols: int, *, stream: int = 0) -> int:
        """Returns the number of rows."""
        of = view("x", x, tuple(FLOATS), device=CUDA, stream=stream or 1)
        rows, _ = rows_of("x", of, cols)
        call("cuda_quantise", self, stream, of.address, FLOATS[of.type], of.bytes, into, rows)
        return rows

    def multiply_quantised(self, weights: CudaWeights, activations: CudaActivations, rows: int, out: Any, *,
                           stream: int = 0, bias: Any = None, residual: Any = None, workspace: Any = None) -> Any:
        """Of the first `rows` rows that were quantised; `out` is of int32, float32, bfloat16 or float16."""
        where: Dict[str, Any] = {"device": CUDA, "stream": stream or 1}
        n = weights.shape[0]
        to, work = view("out", out, tuple(OUTPUTS), **where), self._workspace(workspace, where)
        added = addend("bias", bias, n, **where), addend("residual", residual, rows * n, **where)
        call("cuda_multiply_add", self, stream, weights, activations, rows, *added[0][:2], *added[1][:2],
             to.address, OUTPUTS[to.type], to.bytes, *work)
        return out

    def multiply(self, weights: CudaWeights, x: Any, out: Any, room: CudaActivations, *, stream: int = 0,
                 bias: Any = None, residual: Any = None, workspace: Any = None) -> Any:
        """Quantises `x` in `room` and multiplies, by one kernel if that is quicker."""
        where: Dict[str, Any] = {"device": CUDA, "stream": stream or 1}
        n, k = weights.shape
        of, to = view("x", x, tuple(FLOATS), **where), view("out", out, tuple(OUTPUTS), **where)
        rows, _ = rows_of("x", of, k)
        added = addend("bias", bias, n, **where), addend("residual", residual, rows * n, **where)
        call("cuda_multiply_values_add", self, stream, weights, of.address, FLOATS[of.type], of.bytes, room, rows,
             *added[0][:2], *added[1][:2], to.address, OUTPUTS[to.type], to.bytes, *self._workspace(workspace, where))
        return out

    def check(self, activations: CudaActivations, rows: int, *, stream: int = 0) -> None:
        """Waits for the stream; raises NOT_FINITE if one of the rows held a NaN or an infinity."""
        call("cuda_check", self, stream, activations, rows)

    @staticmethod
    def _workspace(workspace: Any, where: Dict[str, Any]) -> Tuple[Any, int]:
        if workspace is None:
            return None, 0
        found = view("workspace", workspace, ("uint8",), **where)
        return found.address, found.bytes
