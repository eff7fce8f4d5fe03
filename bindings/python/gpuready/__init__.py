"""Is every GPU in this machine ready for work? The `gpuready` program of this package answers, and its
documents arrive as dataclasses. No GPU library is loaded into the calling process.

    import gpuready
    report = gpuready.check()
    if report.exit_code != 0:
        print(report.conclusion, [gpu.reason for gpu in report.gpu_status])
"""
from __future__ import annotations

import base64
import functools
import hashlib
import importlib.metadata
import json
import os
import subprocess
from pathlib import Path
from typing import Any, Iterable, Optional, Union

from . import types
from .types import Report, Status

__all__ = ["GpureadyError", "UsageError", "NoAnswer", "Report", "Status", "check", "detect", "diagnose", "program",
           "run", "status", "ternary", "test", "types"]
_FOLDER = Path(os.path.abspath(__file__)).parent  # links are kept: they may lead into an installer's cache


# This package's own; another `gpuready` may come first on sys.path. `pip install --target --upgrade` leaves the older
# version's record beside the new one.
_RECORDS = sorted(importlib.metadata.distributions(name="gpuready", path=[str(_FOLDER.parent)]),
                  key=lambda record: [int(part) if part.isdigit() else -1 for part in record.version.split(".")])
__version__: str = _RECORDS[-1].version if _RECORDS else "unknown"  # a copied package has none


class GpureadyError(Exception):
    """The program gave no document. Whatever is wrong with a GPU is in the document instead."""

    def __init__(self, message: str, exit_code: Optional[int] = None):
        super().__init__(message)
        self.exit_code = exit_code


class UsageError(GpureadyError):
    """An argument, option or input file is wrong (exit code 2)."""


class NoAnswer(GpureadyError):
    """The program could not be started, was interrupted, or did not end in time."""


def _is_recorded(path: Path, file: importlib.metadata.PackagePath) -> bool:
    """Whether `path` has the size and hash that the installer recorded for `file`."""
    if file.hash is None or path.stat().st_size != file.size:
        return False
    digest = hashlib.new(file.hash.mode, path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value


@functools.lru_cache(maxsize=None)
def _installed() -> Optional[Path]:
    beside = _FOLDER.parent / "bin" / "gpuready"  # pip install --target, whose RECORD leads elsewhere
    recorded = [file for record in _RECORDS for file in record.files or ()
                if file.name == "gpuready" and "bin" in file.parts]
    for file in recorded:
        for path in (beside, Path(str(file.locate()))):
            if path.is_file() and _is_recorded(path, file):
                return path.resolve()
    return beside if not recorded and beside.is_file() else None


def program() -> Path:
    """The program of this installation, or the one that GPUREADY_HELPER names."""
    named = os.environ.get("GPUREADY_HELPER")
    if named:
        return Path(named)
    found = _installed()
    if found is None:
        raise NoAnswer("no gpuready program belongs to this package (imported from a zip, or copied?): install the "
                       "wheel with pip, or set GPUREADY_HELPER to the program")
    return found


def _argument(word: Union[str, os.PathLike[str]]) -> str:
    """As a program can take it."""
    text = os.fspath(word)
    try:
        if b"\0" in os.fsencode(text):
            raise UsageError(f"the argument {text!r} holds a NUL byte, which no program can take", 2)
    except UnicodeEncodeError as error:
        raise UsageError(f"the argument {text!r} is not valid text: {error.reason}", 2) from None
    return text


def run(*words: Union[str, os.PathLike[str]], timeout: Optional[float] = None) -> dict[str, Any]:
    """The JSON document of any command that has --json: run("pack", "inspect", "model.so"). `timeout` is in seconds."""
    command = [_argument(word) for word in (program(), *words)]
    try:
        done = subprocess.run([*command, "--json=-"], stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired as late:
        raise NoAnswer(f"{' '.join(command)} did not end within {timeout} s") from late
    except OSError as error:
        raise NoAnswer(f"{command[0]} does not start: {error}") from error
    said = done.stderr.decode(errors="replace").strip()
    try:
        document: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        kind = UsageError if done.returncode == 2 else NoAnswer
        raise kind(said or f"exit code {done.returncode} without a document", done.returncode) from None
    return document


def _file(path: Union[str, os.PathLike[str]]) -> str:
    """As a positional argument: a name that begins with a dash is not an option."""
    text = os.fspath(path)
    return "./" + text if text.startswith("-") else text


def _words(**options: Any) -> list[str]:
    """level="quick", busy=True, device=["0", "1"] as --level=quick --busy --device=0,1."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, (str, os.PathLike, int, float)):
            words.append(f"{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
        else:
            words.append(f"{option}={','.join(str(each) for each in value)}")
    return words


def _report(command: str, timeout: Optional[float], options: dict[str, Any]) -> Report:
    return Report.from_json(run(command, *_words(**options), timeout=timeout))


Names = Union[str, Iterable[Union[str, int]], None]
AnyPath = Union[str, "os.PathLike[str]", None]


def detect(*, full: bool = False, require_gpu: Optional[int] = None, expect: Names = None,
           replay: AnyPath = None, timeout: Optional[float] = None) -> Report:
    """The GPUs and their environment."""
    return _report("detect", timeout, {"full": full, "require_gpu": require_gpu, "expect": expect, "replay": replay})


def diagnose(*, require_gpu: Optional[int] = None, accept: Names = None, expect: Names = None,
             replay: AnyPath = None, timeout: Optional[float] = None) -> Report:
    """Also what is wrong with them, in `findings` (`gpuready doctor`)."""
    return _report("doctor", timeout, {"require_gpu": require_gpu, "accept": accept, "expect": expect,
                                       "replay": replay})


def check(*, level: Optional[str] = None, device: Names = None, require_gpu: Optional[int] = None,
          expect: Names = None, policy: AnyPath = None, require: Names = None, accept: Names = None, busy: bool = False,
          state: AnyPath = None, wait: Optional[float] = None, replay: AnyPath = None,
          timeout: Optional[float] = None) -> Report:
    """Also tests each GPU; about 2 s at level "quick". `state`: the file where the result is kept for status().
    `wait`: seconds that a driver may take to settle after boot."""
    return _report("check", timeout, {"level": level, "device": device, "require_gpu": require_gpu, "expect": expect,
                                      "policy": policy, "require": require, "accept": accept, "busy": busy,
                                      "state": state, "wait": wait, "replay": replay})


def test(*, level: Optional[str] = None, only: Names = None, device: Names = None, duration: Optional[float] = None,
         hammer: bool = False, require_gpu: Optional[int] = None, expect: Names = None, policy: AnyPath = None,
         require: Names = None, accept: Names = None, busy: bool = False, state: AnyPath = None,
         wait: Optional[float] = None, replay: AnyPath = None, timeout: Optional[float] = None) -> Report:
    """All tests; about 30 s at level "standard". `hammer`: also repeated access in the memory test; the rest as in
    check()."""
    return _report("test", timeout, {"level": level, "only": only, "device": device, "duration": duration,
                                     "hammer": hammer, "require_gpu": require_gpu, "expect": expect, "policy": policy,
                                     "require": require, "accept": accept, "busy": busy, "state": state, "wait": wait,
                                     "replay": replay})


def status(*, state: AnyPath = None, valid: Optional[float] = None) -> Status:
    """What the latest check or test says now; tests nothing. `valid`: seconds that a good result counts."""
    return Status.from_json(run("status", *_words(state=state, valid=valid)))


from . import ternary  # noqa: E402  (it uses what stands above)
