"""Ternary (1.58-bit) weights: what a GGUF file holds, and whether every device multiplies them exactly and how fast.

    import gpuready
    for tensor in gpuready.ternary.inspect("model.gguf").tensors:
        print(tensor.name, tensor.type)
"""
from __future__ import annotations

import os
from typing import Optional, Union

from .. import Names, _file, _words, run
from ..types import TernaryBench, TernaryConvert, TernaryInspect, TernaryVerify

__all__ = ["bench", "convert", "inspect", "verify"]
_Path = Union[str, "os.PathLike[str]"]


def inspect(file: _Path, *, layout: Optional[str] = None, timeout: Optional[float] = None) -> TernaryInspect:
    """The tensors of a GGUF file. `layout` says what its I2_S, TL1 or TL2 tensors are."""
    return TernaryInspect.from_json(run("ternary", "inspect", _file(file), *_words(layout=layout), timeout=timeout))


def convert(file: _Path, out: _Path, to: str, *, layout: Optional[str] = None, tensor: Optional[str] = None,
            round_scales: bool = False, from_float: bool = False, rule: Optional[str] = None, force: bool = False,
            timeout: Optional[float] = None) -> TernaryConvert:
    """Writes `out` with the ternary tensors in the format `to`, completely or not at all."""
    options = _words(to=to, layout=layout, tensor=tensor, round_scales=round_scales, from_float=from_float, rule=rule,
                     force=force)
    return TernaryConvert.from_json(run("ternary", "convert", _file(file), _file(out), *options, timeout=timeout))


def verify(file: Optional[_Path] = None, *, device: Names = None, tier: Names = None, threads: Optional[int] = None,
           layout: Optional[str] = None, thorough: bool = False, seed: Optional[int] = None,
           timeout: Optional[float] = None) -> TernaryVerify:
    """Every CPU tier and device against exact sums, bit for bit; with the tensors of a file, or with random ones."""
    options = _words(device=device, tier=tier, threads=threads, layout=layout, thorough=thorough, seed=seed)
    return TernaryVerify.from_json(run("ternary", "verify", *([] if file is None else [_file(file)]), *options, timeout=timeout))


def bench(*, shape: Names = None, device: Names = None, tier: Names = None, threads: Optional[int] = None,
          timeout: Optional[float] = None) -> TernaryBench:
    """Times products of `shape` ("MxNxK") on every CPU tier and device."""
    options = _words(shape=shape, device=device, tier=tier, threads=threads)
    return TernaryBench.from_json(run("ternary", "bench", *options, timeout=timeout))
