"""Ternary weights in torch: the operator gpuready::ternary_linear, which torch.compile traces, and a module over it.

    from gpuready.ternary.torch import TernaryLinear
    model.up = TernaryLinear.from_float(model.up)          # a torch.nn.Linear

For inference: no gradient is defined. Activations are float32, float16 or bfloat16, quantised to int8 a row each, and the
output has their type. A CUDA tensor is multiplied on torch's current stream, which a CUDA graph may capture after one call
of the same shape. A GPU holds weights twice: as saved, in the module's buffer, and as its kernels read them.
"""
from __future__ import annotations

import functools
import threading
from typing import Any, List, Optional, Tuple, Union

import torch

from ._arrays import CUDA, View
from ._cuda import CudaActivations, CudaEngine
from ._engine import Engine, Packed
from ._library import Handle, Status, TernaryError

__all__ = ["TernaryLinear", "ternary_linear"]
_TYPES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16", torch.uint8: "uint8"}
_lock = threading.Lock()


def _view(what: str, tensor: torch.Tensor, device: torch.device) -> View:
    """As View, without DLPack's synchronization of streams: work is on torch's current stream."""
    if tensor.dtype not in _TYPES:
        raise TernaryError(Status.BAD_ARGUMENT, f"{what} is of {tensor.dtype}; float32, float16 and bfloat16 can be used")
    if tensor.device != device:
        raise TernaryError(Status.BAD_ARGUMENT, f"{what} is on {tensor.device}, and the activations on {device}")
    tensor = tensor.contiguous()
    return View(tensor.data_ptr(), _TYPES[tensor.dtype], tuple(tensor.shape), CUDA if tensor.is_cuda else 1, tensor)


def _aligned(packed: torch.Tensor) -> torch.Tensor:
    """In the host's memory at a multiple of 64, as torch allocates it."""
    packed = packed.detach().cpu().contiguous()
    return packed if packed.data_ptr() % 64 == 0 else packed.clone()


class _OnCpu:
    def __init__(self, packed: torch.Tensor):
        self._engine = _cpu()
        self._weights = self._engine.load(Packed.open(_view("packed", _aligned(packed), torch.device("cpu"))))

    def multiply(self, x: View, y: View, bias: Optional[View]) -> None:
        self._engine.multiply(self._weights, x, y, bias=bias)


class _OnCuda:
    """Rooms for activations are never freed before the weights: a captured graph may use them."""

    def __init__(self, packed: torch.Tensor):
        self._device = packed.device
        self._engine = _cuda(packed.device.index)
        self._weights = self._engine.load(Packed.open(_view("packed", _aligned(packed), torch.device("cpu"))))
        self._rooms: List[Tuple[int, CudaActivations]] = []
        self._stream: Optional[torch.cuda.Stream] = None
        self._lock = threading.Lock()

    def _room(self, rows: int) -> CudaActivations:
        for capacity, room in self._rooms:
            if rows <= capacity:
                return room
        if torch.cuda.is_current_stream_capturing():
            raise TernaryError(Status.UNSUPPORTED, f"call the layer once with {rows} rows before the capture of a graph")
        capacity = 1 << max(rows - 1, 0).bit_length()
        self._rooms.append((capacity, self._engine.activations(capacity, self._weights.shape[1])))
        return self._rooms[-1][1]

    def multiply(self, x: View, y: View, bias: Optional[View]) -> None:
        rows = x.count // self._weights.shape[1]
        with self._lock:
            stream, room = torch.cuda.current_stream(self._device), self._room(rows)
            # Work on one room follows each other. A capture begins after all other work of the device.
            if self._stream not in (None, stream) and not torch.cuda.is_current_stream_capturing():
                stream.wait_stream(self._stream)
            self._stream = stream
            size = self._engine.workspace_bytes(self._weights, rows)
            work = torch.empty(size, dtype=torch.uint8, device=self._device) if size else None
            self._engine.multiply(self._weights, x, y, room, stream=stream.cuda_stream, bias=bias,
                                  workspace=None if work is None else _view("workspace", work, self._device))


@functools.lru_cache(maxsize=None)
def _cpu() -> Engine:
    return Engine("cpu", threads=torch.get_num_threads())


@functools.lru_cache(maxsize=None)
def _cuda(_index: int) -> CudaEngine:
    torch.zeros(1, device="cuda")  # makes the device's primary context this thread's current one
    return CudaEngine()


class _Loaded:
    """A tensor's attribute, which ends with it and is not copied with it."""

    def __init__(self, key: Any, weights: Union[_OnCpu, _OnCuda]):
        self.key, self.weights = key, weights

    __reduce__ = Handle.__reduce__


def _loaded(packed: torch.Tensor) -> Union[_OnCpu, _OnCuda]:
    """Loaded once for each content of a tensor."""
    key = (packed.data_ptr(), None if packed.is_inference() else packed._version)
    held = getattr(packed, "_gpuready", None)
    if held is None or held.key != key:
        with _lock:
            held = packed._gpuready = _Loaded(key, (_OnCuda if packed.is_cuda else _OnCpu)(packed))
    weights: Union[_OnCpu, _OnCuda] = held.weights
    return weights


def _shape(x: torch.Tensor, features: int) -> List[int]:
    return [*x.shape[:-1], features]


def _multiply(x: torch.Tensor, packed: torch.Tensor, features: int, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    x = x.detach()
    y = x.new_empty(_shape(x, features))
    if y.numel() > 0:
        of, to = _view("x", x, x.device), _view("the output", y, x.device)
        added = None if bias is None else _view("the bias", bias.detach(), x.device)
        if packed.device != x.device:
            raise TernaryError(Status.BAD_ARGUMENT, f"the weights are on {packed.device}, and the activations on {x.device}")
        if x.is_cuda:
            with torch.cuda.device(x.device):
                _loaded(packed).multiply(of, to, added)
        else:
            _loaded(packed).multiply(of, to, added)
    return y


def _traced(x: torch.Tensor, packed: torch.Tensor, features: int, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    return x.new_empty(_shape(x, features))


_operators = torch.library.Library("gpuready", "DEF")
_operators.define("ternary_linear(Tensor x, Tensor packed, int features, Tensor? bias=None) -> Tensor")
for _key, _function in (("CPU", _multiply), ("CUDA", _multiply), ("Meta", _traced)):
    _operators.impl("ternary_linear", _function, _key)
ternary_linear = torch.ops.gpuready.ternary_linear


class TernaryLinear(torch.nn.Module):
    """y = x W^T + bias with ternary weights. The buffer `packed` (uint8) has their saved form, which state_dict() has,
    too."""
    packed: torch.Tensor
    bias: Optional[torch.Tensor]

    def __init__(self, packed: Union[Packed, torch.Tensor], bias: Optional[torch.Tensor] = None):
        super().__init__()
        if isinstance(packed, Packed):
            saved = torch.empty(packed.saved_bytes, dtype=torch.uint8)
            packed.save_into(saved)
            packed = saved
        with Packed.open(_view("packed", _aligned(packed), torch.device("cpu"))) as checked:
            self.out_features, self.in_features = checked.shape
        self.register_buffer("packed", packed)
        self.register_buffer("bias", None if bias is None else bias.detach())

    @classmethod
    def from_float(cls, weight: Union[torch.Tensor, torch.nn.Linear], bias: Optional[torch.Tensor] = None, *,
                   format: str = "i2_s-x86", rule: str = "absmean", form: str = "two-bit") -> "TernaryLinear":
        """Quantises a matrix, or a linear layer with its bias. The result is on the same device."""
        if isinstance(weight, torch.nn.Linear):
            weight, bias = weight.weight, weight.bias
        values = _view("the weight", weight.detach().cpu(), torch.device("cpu"))
        return cls(Packed.from_values(values, format, rule=rule, form=form), bias).to(weight.device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = ternary_linear(x, self.packed, self.out_features, self.bias)
        return y

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
