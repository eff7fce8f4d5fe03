"""The library, loaded at the first call; errors as exceptions; handles."""
from __future__ import annotations

import ctypes as c
import enum
import functools
import operator
import os
import threading
from pathlib import Path
from typing import Any, List, Optional, TypeVar

from . import _declarations

VARIABLE = "GPUREADY_TERNARY_LIBRARY"
_NAMES = ("libgpuready-ternary.so", "libgpuready-ternary.so.0", "libgpuready.so", "libgpuready.so.0")


class Status(enum.IntEnum):
    """Of the C interface (status.h)."""
    NO_GPU = 1
    BAD_ARGUMENT = 2
    DEVICE_ERROR = 3
    INTERNAL_ERROR = 4
    TOO_LARGE = 5
    NOT_FOUND = 6
    NO_PERMISSION = 7
    TIMED_OUT = 8
    UNSUPPORTED = 9
    BUSY = 10
    CANCELLED = 11
    IO_ERROR = 12
    DEVICE_MEMORY = 13
    DEVICE_LOST = 14
    WRONG_SIZE = 15
    TRUNCATED = 16
    NOT_FINITE = 17
    BAD_CODE = 18
    NOT_REPRESENTABLE = 19
    NOT_TERNARY = 20
    UNKNOWN_FORMAT = 21
    AMBIGUOUS_FORMAT = 22
    UNSUPPORTED_TIER = 23


class TernaryError(Exception):
    """What the library or an argument is wrong about. `status` is None if no library is found."""

    def __init__(self, status: Optional[int], message: str):
        super().__init__(message)
        known = status in list(Status)
        self.status = Status(status) if status is not None and known else status


def _found() -> c.CDLL:
    """The variable's file, or the first that loads: of the wheel, then of the system."""
    named = os.environ.get(VARIABLE)
    wheels = Path(__file__).parent / _NAMES[0]
    candidates = [named] if named else [*([str(wheels)] if wheels.exists() else []), *_NAMES]
    reasons = []
    for candidate in candidates:
        try:
            return c.CDLL(candidate)
        except OSError as error:
            reasons.append(str(error))
    if named:
        raise TernaryError(None, f"{VARIABLE} names {named}: {reasons[0]}")
    raise TernaryError(None, f"{_NAMES[0]} was not found ({reasons[0]}). The wheel has the program, not the library: build it "
                             "with -DGPUREADY_ONLY=ternary-library or install gpuready's component `library` "
                             f"(docs/library.md), and set {VARIABLE} to its file if the loader does not find it")


functions = functools.lru_cache(maxsize=None)(_declarations.functions)
_INTEGERS = (c.c_int, c.c_int32, c.c_int64, c.c_uint32, c.c_uint64, c.c_size_t, c.c_void_p)


@functools.lru_cache(maxsize=None)
def library() -> c.CDLL:
    found = _found()
    for name, (result, parameters) in functions().items():
        try:
            function = getattr(found, name)
        except AttributeError:
            raise TernaryError(None, f"{found._name} has no function {name}: it is older than this package") from None
        function.restype, function.argtypes = result, [kind for _, kind in parameters]
    return found


def checked(what: str, kind: Any, value: Any) -> Any:
    """A number or text that ctypes would cut is refused; `what` is its name."""
    if isinstance(value, bytes) and b"\0" in value:
        raise TernaryError(Status.BAD_ARGUMENT, f"{what} is {value.decode(errors='replace')!r}, which has a NUL character")
    if kind not in _INTEGERS or not hasattr(value, "__index__"):
        return value
    value, bits = operator.index(value), 8 * c.sizeof(kind)
    least = -(1 << bits - 1) if kind(-1).value == -1 else 0
    if not least <= value < least + (1 << bits):
        raise TernaryError(Status.BAD_ARGUMENT, f"{what} is {value}; it must be {least} to {least + (1 << bits) - 1}")
    return value


def _given(what: str, kind: Any, value: Any, used: "List[Handle]") -> Any:
    """An argument as ctypes takes it; its handles are in `used` then."""
    if isinstance(value, tuple):
        return (c.c_void_p * len(value))(*[_given(what, kind, each, used).value for each in value])
    if not isinstance(value, Handle):
        return checked(what, kind, value)
    pointer = value.begin_use()
    used.append(value)
    return pointer


def call(name: str, *arguments: Any) -> None:
    """gpuready_ternary_<name>(). A tuple is an array of handles. No handle ends meanwhile."""
    name = "gpuready_ternary_" + name
    lib = library()
    used: List[Handle] = []
    try:
        status = getattr(lib, name)(*[_given(*its, value, used) for its, value in zip(functions()[name][1], arguments)])
        if status:
            raise TernaryError(status, lib.gpuready_last_error().decode(errors="replace"))
    finally:
        for handle in used:
            handle.end_use()


def made(name: str, *arguments: Any) -> c.c_void_p:
    """The handle that such a call makes."""
    handle = c.c_void_p()
    call(name, *arguments, c.byref(handle))
    return handle


def text_of(name: str, *arguments: Any, after: Any = ()) -> str:
    """A text of any length from a call that cuts it to the capacity."""
    size = _declarations.TEXT_MAX
    while True:
        room = c.create_string_buffer(size)
        call(name, *arguments, c.cast(room, c.c_void_p), size, *after)
        if len(room.value) + 1 < size:
            return room.value.decode(errors="replace")
        size *= 2


_Self = TypeVar("_Self", bound="Handle")


class Handle:
    """Ends with its `with` block, with close(), or with its last reference; if other threads use it then, after the last
    of their calls. `keeps` is what it reads meanwhile."""
    _kind = ""
    _handle: Optional[c.c_void_p] = None
    _open = False
    _uses = 0

    def __init__(self, handle: c.c_void_p, *keeps: Any):
        self._lock = threading.RLock()  # a signal's handler may close what its thread begins to use
        self._handle, self._keeps, self._open = handle, keeps, True

    def begin_use(self) -> c.c_void_p:
        with self._lock:
            self._uses += 1
            if self._open and self._handle is not None:
                return self._handle
        self.end_use()
        raise ValueError(f"this {type(self).__name__} is closed")

    def end_use(self) -> None:
        with self._lock:
            self._uses -= 1
            if self._open or self._uses > 0 or self._handle is None:
                return
            handle, self._handle = self._handle, None
        getattr(library(), f"gpuready_ternary_{self._kind}_destroy")(handle)
        self._keeps = ()

    def close(self) -> None:
        if not self._open:
            return
        with self._lock:
            self._uses += 1
            self._open = False
        self.end_use()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __reduce__(self) -> Any:
        """A copy or a pickle of what holds a handle has None instead: a handle belongs to this process."""
        return type(None), ()
