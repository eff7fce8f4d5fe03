#!/usr/bin/env python3
"""PyTorch through torch.compile. BENCH_TORCH_COMPILE_MODE is its mode: default, reduce-overhead (CUDA
graphs), max-autotune."""
import os
import sys

# An isolated Python does not look beside the script.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import torch_stack  # noqa: E402
from gpuready_bench import Unavailable, main  # noqa: E402


def preload():
    """What compiling imports, before the gate: it takes as long as torch itself."""
    try:
        import torch._dynamo  # noqa: F401
        import torch._inductor  # noqa: F401  (deeper parts start processes of their own)
    except Exception:  # a part that this version does not have is imported when it is needed
        pass


def build(work):
    torch = torch_stack.load(work)
    if not hasattr(torch, "compile"):
        raise Unavailable(f"PyTorch {torch.__version__} has no torch.compile: 2.0 or newer is wanted")
    preload()
    mode = os.environ.get("BENCH_TORCH_COMPILE_MODE") or "default"
    function = torch.compile(torch_stack.function_of(torch, work), mode=mode, dynamic=False, fullgraph=True)
    if work.device == "cuda":
        mark = torch.compiler.cudagraph_mark_step_begin

        def step(*inputs):
            mark()  # outputs of the step before may be written over
            return function(*inputs)
    else:
        step = function
    try:
        made = torch_stack.stack(work, torch, step, compiled=True)
    except Exception as error:
        if "compiler" in str(error).lower() and "not found" in str(error).lower():
            raise Unavailable(f"torch.compile finds no C++ compiler: {error}")
        raise
    made.facts["settings"]["compile_mode"] = mode
    return made


main("torch_compile", build)
