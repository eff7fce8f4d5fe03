"""Arrays of numpy, torch and all that speak DLPack, read and written in place."""
from __future__ import annotations

import ctypes as c
import dataclasses
import math
from typing import Any, List, Optional, Sequence, Tuple

from ._library import Status, TernaryError

FLOATS = {"float32": 0, "float16": 1, "bfloat16": 2}  # gpuready_ternary_type
OUTPUTS = {"int32": 0, "float32": 1, "bfloat16": 2, "float16": 3}  # gpuready_ternary_output
SIZES = {"float32": 4, "float16": 2, "bfloat16": 2, "int32": 4, "int8": 1, "uint8": 1}
_CODES = {(0, 8): "int8", (1, 8): "uint8", (0, 32): "int32", (2, 16): "float16", (2, 32): "float32", (4, 16): "bfloat16"}
_TYPES = {"<f4": "float32", "<f2": "float16", "|i1": "int8", "|u1": "uint8", "<i4": "int32"}  # numpy's
CPU, CUDA = 1, 2  # DLPack's kinds of device


class _DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", c.c_int32), ("device_id", c.c_int32), ("dims", c.c_int32),
                ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("offset", c.c_uint64)]


class _Buffer(c.Structure):
    """Py_buffer of the buffer protocol (Python's C API)."""
    _fields_ = [("address", c.c_void_p), ("object", c.c_void_p), ("size", c.c_ssize_t), ("item_size", c.c_ssize_t),
                ("read_only", c.c_int), ("dims", c.c_int), ("format", c.c_void_p), ("shape", c.c_void_p),
                ("strides", c.c_void_p), ("suboffsets", c.c_void_p), ("internal", c.c_void_p)]


_get_buffer, _release_buffer = c.pythonapi.PyObject_GetBuffer, c.pythonapi.PyBuffer_Release
_get_buffer.argtypes = [c.py_object, c.c_void_p, c.c_int]
_release_buffer.restype, _release_buffer.argtypes = None, [c.c_void_p]


class _Held:
    """Bytes that their object can neither move nor free before this ends."""

    def __init__(self, what: str, data: Any):
        self.buffer = _Buffer()
        try:
            _get_buffer(data, c.byref(self.buffer), 0)
        except TypeError:
            raise _wrong(f"{what} is a {type(data).__name__}: what has the buffer protocol, numpy arrays and arrays with "
                         "__dlpack__ can be used") from None
        except BufferError:
            raise _wrong(f"the elements of {what} do not follow each other: make it contiguous") from None

    def __del__(self, release: Any = _release_buffer, address: Any = c.byref) -> None:
        release(address(self.buffer))  # does nothing if there is none


_pointer = c.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]


@dataclasses.dataclass(frozen=True)
class View:
    """Where an array's elements are, row-major and without gaps. `owner` keeps them."""
    address: int
    type: str
    shape: Tuple[int, ...]
    device: int = CPU
    owner: Any = None

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.count * SIZES[self.type]


def _wrong(text: str) -> TernaryError:
    return TernaryError(Status.BAD_ARGUMENT, text)


def _contiguous(shape: Sequence[int], strides: Optional[Sequence[int]]) -> bool:
    """`strides` in elements."""
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides or ())):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def view(what: str, array: Any, types: Sequence[str], *, device: int = CPU, writable: bool = False,
         stream: Optional[int] = None) -> View:
    """Raises TernaryError, which calls the array `what`, unless it can be used in place."""
    if isinstance(array, View):
        found = array
    elif hasattr(array, "__array_interface__"):  # numpy, also if it is read-only, which DLPack refuses
        its = array.__array_interface__
        address, read_only = its["data"]
        size = array.dtype.itemsize
        strides = None if its["strides"] is None else [step // size if step % size == 0 else -1 for step in its["strides"]]
        if writable and read_only:
            raise _wrong(f"{what} is read-only")
        if not _contiguous(its["shape"], strides):
            raise _wrong(f"the elements of {what} do not follow each other: make it contiguous")
        name = _TYPES.get(its["typestr"]) or (array.dtype.name if array.dtype.isnative else str(array.dtype))
        found = View(address, name, its["shape"], CPU, array)
    elif hasattr(array, "__dlpack__"):
        capsule = array.__dlpack__(stream=stream) if stream is not None else array.__dlpack__()
        it = c.cast(_pointer(capsule, b"dltensor"), c.POINTER(_DLTensor)).contents
        shape = tuple(it.shape[:it.dims])
        if it.strides and not _contiguous(shape, it.strides[:it.dims]):
            raise _wrong(f"the elements of {what} do not follow each other: make it contiguous")
        name = _CODES.get((it.code, it.bits), f"DLPack's {it.code, it.bits}") if it.lanes == 1 else "a vector type"
        found = View((it.data or 0) + it.offset, name, shape, it.device, (array, capsule))
    else:
        raise _wrong(f"{what} is a {type(array).__name__}: numpy arrays and arrays with __dlpack__ can be used")
    if found.type not in types:
        raise _wrong(f"{what} holds {found.type}; it must be {' or '.join(types)}")
    if found.device != device:
        raise _wrong(f"{what} is on {'a CUDA device' if found.device == CUDA else 'the CPU'}; "
                     f"it must be on {'a CUDA device' if device == CUDA else 'the CPU'}")
    return found


def bytes_of(what: str, data: Any, *, writable: bool = False) -> View:
    """Of anything with the buffer protocol, or a uint8 array."""
    if hasattr(data, "__array_interface__") or hasattr(data, "__dlpack__") or isinstance(data, View):
        return view(what, data, ("uint8",), writable=writable)
    held = _Held(what, data)
    if writable and held.buffer.read_only:
        raise _wrong(f"{what} is read-only")
    return View(held.buffer.address or 0, "uint8", (held.buffer.size,), CPU, held)


def new(shape: Sequence[int], dtype: str) -> Any:
    import numpy
    return numpy.empty(tuple(shape), dtype)


def matrix(what: str, array: View) -> Tuple[int, int]:
    if len(array.shape) != 2:
        raise _wrong(f"{what} has {len(array.shape)} dimensions; weights have rows and columns")
    return array.shape[0], array.shape[1]


def rows_of(what: str, array: View, cols: int) -> Tuple[int, Tuple[int, ...]]:
    """Rows of activations, and their dimensions before the last."""
    if not array.shape or array.shape[-1] != cols:
        raise TernaryError(Status.WRONG_SIZE, f"{what} has the shape {array.shape}; its last dimension must be {cols}")
    return math.prod(array.shape[:-1]), array.shape[:-1]


def addend(what: str, array: Any, count: int, **where: Any) -> Tuple[Any, int, List[Any]]:
    """Address, type and owner of a bias or residual of `count` values, or of none."""
    if array is None:
        return None, 0, []
    found = view(what, array, tuple(FLOATS), **where)
    if found.count != count:
        raise TernaryError(Status.WRONG_SIZE, f"{what} has {found.count} values; the product needs {count}")
    return found.address, FLOATS[found.type], [found]
