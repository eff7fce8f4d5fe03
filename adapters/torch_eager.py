#!/usr/bin/env python3
"""PyTorch as it is: one kernel launch an operator."""
import os
import sys

# An isolated Python does not look beside the script.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import torch_stack  # noqa: E402
from gpuready_bench import main  # noqa: E402


def build(work):
    torch = torch_stack.load(work)
    return torch_stack.stack(work, torch, torch_stack.function_of(torch, work))


main("torch_eager", build)
