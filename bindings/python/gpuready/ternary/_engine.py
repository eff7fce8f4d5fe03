"""Ternary weights on the host: packed, saved, viewed, and multiplied by the best device."""
from __future__ import annotations

import ctypes as c
import functools
import mmap
import os
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from . import _declarations
from ._arrays import FLOATS, View, addend, bytes_of, matrix, new, rows_of, view
from ._library import Handle, Status, TernaryError, call, checked, made, text_of

RULES = {"of-format": 0, "absmean": 1}
FORMS = {"two-bit": 0, "three-trits": 1}
_Path = Union[str, "os.PathLike[str]"]


def _choice(what: str, table: Dict[str, int], name: str) -> int:
    if name not in table:
        raise TernaryError(Status.BAD_ARGUMENT, f"{what} is {name!r}; it must be {' or '.join(table)}")
    return table[name]


def _scales(scales: Any) -> Tuple[Any, int, List[View]]:
    if scales is None:
        return None, 0, []
    found = view("scales", scales, ("float32",))
    return found.address, found.count, [found]


def _mapped(path: _Path) -> View:
    """A file's bytes."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise TernaryError(Status.TRUNCATED, f"{os.fspath(path)} is empty")
        return bytes_of("the file", mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _source(source: Any) -> View:
    return _mapped(source) if isinstance(source, (str, os.PathLike)) else bytes_of("the file", source)


class Packed(Handle):
    """Weights, rows x cols, as the kernels read them."""
    _kind = "packed"

    @classmethod
    def from_values(cls, values: Any, format: str = "i2_s-x86", *, rule: str = "absmean", form: str = "two-bit",
                    threads: int = 0) -> "Packed":
        """Quantises a matrix of float32, float16 or bfloat16."""
        of = view("values", values, tuple(FLOATS))
        rows, cols = matrix("values", of)
        return cls(made("pack_values", of.address, FLOATS[of.type], of.count, rows, cols, format.encode(),
                        _choice("rule", RULES, rule), _choice("form", FORMS, form), threads))

    @classmethod
    def from_bytes(cls, format: str, rows: int, cols: int, data: Any, scales: Any = None, *, form: str = "two-bit",
                   threads: int = 0) -> "Packed":
        """Weights in a format; `scales` (float32) if the format keeps them beside its bytes."""
        of, (at, count, _keep) = bytes_of("data", data), _scales(scales)
        return cls(made("pack", format.encode(), rows, cols, of.address, of.bytes, at, count,
                        _choice("form", FORMS, form), threads))

    @classmethod
    def open(cls, source: Any, *, trust: bool = False, threads: int = 0) -> "Packed":
        """A saved form, without a copy: a file's name, or a buffer or array of bytes at a multiple of 64 that does not
        change. All of it is checked, unless it is to be trusted."""
        of = _source(source)
        return cls(made("packed_view", of.address, of.bytes, int(trust), threads), of)

    def _info(self) -> Tuple[int, int, int, int]:
        rows, cols, size, saved = c.c_int64(), c.c_int64(), c.c_size_t(), c.c_size_t()
        call("packed_info", self, c.byref(rows), c.byref(cols), c.byref(size), c.byref(saved))
        return rows.value, cols.value, size.value, saved.value

    @functools.cached_property
    def shape(self) -> Tuple[int, int]:
        return self._info()[:2]

    @property
    def nbytes(self) -> int:
        """Of the host's memory."""
        return self._info()[2]

    @property
    def saved_bytes(self) -> int:
        return self._info()[3]

    def save_into(self, buffer: Any) -> None:
        """Writes the saved form, the same on every CPU, into `saved_bytes` bytes."""
        to = bytes_of("buffer", buffer, writable=True)
        call("packed_save", self, to.address, to.bytes)

    def save(self, path: _Path) -> None:
        """Writes a file, completely or not at all."""
        part = os.fspath(path) + ".part"
        with open(part, "w+b") as file:
            file.truncate(self.saved_bytes)
            self.save_into(mmap.mmap(file.fileno(), self.saved_bytes))
        os.replace(part, path)


class Tensor(NamedTuple):
    name: str
    rows: int
    cols: int
    ggml_type: int


class Gguf(Handle):
    """A GGUF file, or its bytes, read in place."""
    _kind = "gguf"

    def __init__(self, source: Any):
        of = _source(source)
        super().__init__(made("gguf_read", of.address, of.bytes), of)

    def __len__(self) -> int:
        count = c.c_size_t()
        call("gguf_count", self, c.byref(count))
        return count.value

    def tensor(self, index: int) -> Tensor:
        rows, cols, kind = c.c_int64(), c.c_int64(), c.c_uint32()
        name = text_of("gguf_tensor", self, index, after=(c.byref(rows), c.byref(cols), c.byref(kind)))
        return Tensor(name, rows.value, cols.value, kind.value)

    def tensors(self) -> List[Tensor]:
        return [self.tensor(index) for index in range(len(self))]

    def pack(self, name: str, *, layout: Optional[str] = None, form: str = "two-bit", threads: int = 0) -> Packed:
        """A tensor's weights, which do not need the file afterwards. `layout` names a format if the tensor's type has
        several ("i2_s-x86")."""
        index = c.c_size_t()
        call("gguf_find", self, name.encode(), c.byref(index))
        return Packed(made("gguf_pack", self, index, None if layout is None else layout.encode(),
                           _choice("form", FORMS, form), threads))


class LoadedWeights(Handle):
    """Weights on which the library tells rows, columns and one number more."""
    _number: Any

    def _info(self) -> Tuple[int, int, int]:
        rows, cols, number = c.c_int64(), c.c_int64(), self._number()
        call(self._kind + "_info", self, c.byref(rows), c.byref(cols), c.byref(number))
        return rows.value, cols.value, number.value

    @functools.cached_property
    def shape(self) -> Tuple[int, int]:
        return self._info()[:2]


class Weights(LoadedWeights):
    """Weights that an engine loaded. They may outlive it."""
    _kind = "weights"
    _number = c.c_int32

    @property
    def on_device(self) -> bool:
        return bool(self._info()[2])

    @property
    def fallback(self) -> str:
        """Why they are on the CPU though the engine has a GPU."""
        return text_of("weights_fallback", self)


class Engine(Handle):
    """Multiplies on the best device; what that cannot do the CPU does, with the same bits. Any thread may call.
    `target` is "auto", "cpu", "cuda", "cuda:0", "vulkan"; what is None or 0 is left to the environment and the
    library (ternary_device.h)."""
    _kind = "engine"

    def __init__(self, target: Optional[str] = None, *, threads: int = 0, tier: Optional[str] = None,
                 strict: Optional[bool] = None, force_cpu_fallback: Optional[bool] = None, memory_limit_bytes: int = 0,
                 expected_bytes: int = 0):
        given = {"target": None if target is None else target.encode(), "tier": None if tier is None else tier.encode(),
                 "threads": threads, "memory_limit_bytes": memory_limit_bytes, "expected_bytes": expected_bytes}
        kinds = {field[0]: field[1] for field in _declarations.Options._fields_}
        options = _declarations.Options(
            size=c.sizeof(_declarations.Options),
            **{name: checked(name, kinds[name], value) for name, value in given.items()},
            **{name: 1 if value else -1 for name, value in (("strict", strict), ("force_cpu_fallback", force_cpu_fallback))
               if value is not None})
        super().__init__(made("engine_create", c.byref(options)))

    def load(self, packed: Packed) -> Weights:
        """Packed weights, which the engine shares."""
        keeps = packed._keeps  # before another thread can close it
        return Weights(made("weights_from_packed", self, packed), *keeps)

    def load_values(self, values: Any, format: str = "i2_s-x86", *, rule: str = "absmean") -> Weights:
        """Quantises a matrix of float32, float16 or bfloat16."""
        of = view("values", values, tuple(FLOATS))
        rows, cols = matrix("values", of)
        return Weights(made("weights_from_values", self, of.address, FLOATS[of.type], of.count, rows, cols,
                            format.encode(), _choice("rule", RULES, rule)))

    def load_bytes(self, format: str, rows: int, cols: int, data: Any, scales: Any = None) -> Weights:
        """Weights in a format; `scales` (float32) if the format keeps them beside its bytes."""
        of, (at, count, _keep) = bytes_of("data", data), _scales(scales)
        return Weights(made("weights_from_bytes", self, format.encode(), rows, cols, of.address, of.bytes, at, count))

    def load_codes(self, codes: Any, scales: Any, *, group: int = 0) -> Weights:
        """A matrix of -1, 0 and +1 (int8) with one scale a row, or one for each `group` (32, 64, 128, 256) weights of a
        row."""
        of, scale = view("codes", codes, ("int8",)), view("scales", scales, tuple(FLOATS))
        rows, cols = matrix("codes", of)
        return Weights(made("weights_from_codes", self, of.address, of.count, rows, cols, scale.address,
                            FLOATS[scale.type], scale.count, group))

    def quantise(self, values: Any, format: str, *, rule: str = "of-format") -> Tuple[Any, Any]:
        """Bytes of a matrix in a format, and the scales beside them, as numpy arrays."""
        of = view("values", values, tuple(FLOATS))
        rows, cols = matrix("values", of)
        size, count = c.c_size_t(), c.c_size_t()
        call("encoded_size", format.encode(), rows, cols, c.byref(size), c.byref(count))
        data, scales = new((size.value,), "uint8"), new((count.value,), "float32")
        to, beside = view("data", data, ("uint8",)), view("scales", scales, ("float32",))
        call("quantise", self, of.address, FLOATS[of.type], of.count, rows, cols, format.encode(),
             _choice("rule", RULES, rule), to.address, to.bytes, beside.address if count.value else None, count.value)
        return data, scales

    def multiply(self, weights: Weights, x: Any, out: Any = None, *, bias: Any = None, residual: Any = None) -> Any:
        """x W^T + bias + residual: `x` is [..., cols] of float32, float16 or bfloat16, quantised to int8 a row each.
        `out` is [..., rows] of any of these types, by default a new numpy array of float32; `residual` may be `out`."""
        rows, cols = weights.shape
        of = view("x", x, tuple(FLOATS))
        m, leading = rows_of("x", of, cols)
        out = new((*leading, rows), "float32") if out is None else out
        to = view("out", out, tuple(FLOATS), writable=True)
        added = addend("bias", bias, rows), addend("residual", residual, m * rows)
        call("multiply_add", self, weights, of.address, FLOATS[of.type], of.count, m, *added[0][:2], *added[1][:2],
             to.address, FLOATS[to.type], to.bytes)
        return out

    def multiply_int(self, weights: Weights, codes: Any, out: Any = None) -> Any:
        """Exact sums of int8 codes, as int32."""
        rows, cols = weights.shape
        of = view("codes", codes, ("int8",))
        m, leading = rows_of("codes", of, cols)
        out = new((*leading, rows), "int32") if out is None else out
        to = view("out", out, ("int32",), writable=True)
        call("multiply_i32", self, weights, of.address, of.count, m, to.address, to.count)
        return out

    @property
    def kernel(self) -> str:
        """Of the latest product: "avx512-vnni"."""
        return text_of("active_kernel", self)

    def fallbacks(self) -> List[str]:
        """Why a device or tier that was asked for is not used."""
        count = c.c_size_t()
        call("fallback", self, 0, None, 0, c.byref(count))
        return [text_of("fallback", self, index, after=(c.byref(count),)) for index in range(count.value)]

    def stats(self) -> Dict[str, Any]:
        """Counters by the names of gpuready_ternary_stats (ternary_c.h)."""
        stats = _declarations.Stats(size=c.sizeof(_declarations.Stats))
        call("get_stats", self, c.byref(stats))
        found = {field[0]: getattr(stats, field[0]) for field in stats._fields_[1:-1]}
        return {name: value.decode(errors="replace") if isinstance(value, bytes) else value for name, value in found.items()}

    def summary(self) -> str:
        """One line of counters."""
        return text_of("summary", self)
