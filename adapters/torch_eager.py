#!/usr/bin/env python3
"""PyTorch as it is: one kernel launch an operator."""
import torch_stack
from gpuready_bench import main


def build(work):
    torch = torch_stack.load(work)
    return torch_stack.stack(work, torch, torch_stack.function_of(torch, work))


main("torch_eager", build)
