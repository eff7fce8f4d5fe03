"""The library, loaded at the first call; errors as exceptions; handles."""
from __future__ import annotations

import ctypes as c
import enum
import functools
import os
from pathlib import Path
from typing import Any, Optional, TypeVar

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
    raise TernaryError(None, f"{_NAMES[0]} was not found ({reasons[0]}): install gpuready's library, or set {VARIABLE} "
                             "to its file")


@functools.lru_cache(maxsize=None)
def library() -> c.CDLL:
    found = _found()
    for name, (result, parameters) in _declarations.functions().items():
        try:
            function = getattr(found, name)
        except AttributeError:
            raise TernaryError(None, f"{found._name} has no function {name}: it is older than this package") from None
        function.restype, function.argtypes = result, parameters
    return found


def call(name: str, *arguments: Any) -> None:
    """gpuready_ternary_<name>()."""
    lib = library()
    given = [each.pointer if isinstance(each, Handle) else each for each in arguments]
    status = getattr(lib, "gpuready_ternary_" + name)(*given)
    if status:
        raise TernaryError(status, lib.gpuready_last_error().decode(errors="replace"))


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
    """Ends with its `with` block, with close(), or with its last reference. `keeps` is what it reads meanwhile."""
    _kind = ""

    def __init__(self, handle: c.c_void_p, *keeps: Any):
        self._handle: Optional[c.c_void_p] = handle
        self._keeps = keeps

    @property
    def pointer(self) -> c.c_void_p:
        if self._handle is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._handle

    def close(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle is not None:
            getattr(library(), f"gpuready_ternary_{self._kind}_destroy")(handle)
            self._keeps = ()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __reduce__(self) -> Any:
        """A copy or a pickle of what holds a handle has None instead: a handle belongs to this process."""
        return type(None), ()
