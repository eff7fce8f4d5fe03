#!/usr/bin/env python3
"""ONNX Runtime: the workload as an ONNX model, inputs bound on the device."""
import os
import sys
import time

# An isolated Python does not look beside the script.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from gpuready_bench import Stack, Unavailable, Unsupported, installed, main  # noqa: E402
import onnx_graph  # noqa: E402


def build(work):
    try:
        import numpy as np
        import onnxruntime as ort
    except ImportError as missing:
        raise Unavailable(f"ONNX Runtime is not installed ({missing}): pip install onnxruntime, or "
                          "onnxruntime-gpu for a GPU")
    provider = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}.get(work.device)
    if provider not in ort.get_available_providers():
        raise Unavailable(f"ONNX Runtime {ort.__version__} is built without a provider for {work.device} (it has "
                          f"{', '.join(ort.get_available_providers())}): pip install onnxruntime-gpu")
    if work.dtype == "bf16" or (work.device == "cpu" and work.dtype != "fp32"):
        raise Unsupported(f"this adapter has no {work.dtype} on {work.device}")
    arrays = work.inputs()
    if work.dtype == "fp16":
        arrays = [array.astype(np.float16) for array in arrays]
    start = time.perf_counter()
    model, outputs = onnx_graph.model_of(work, arrays)
    options = {"use_tf32": "1" if work.dtype == "tf32" else "0"} if work.device == "cuda" else {}
    session = ort.InferenceSession(model, providers=[(provider, options)])
    if session.get_providers()[0] != provider:
        raise Unavailable(f"ONNX Runtime does not start {provider}: its log says why")
    compile_ms = (time.perf_counter() - start) * 1e3
    binding = session.io_binding()
    values = [ort.OrtValue.ortvalue_from_numpy(array, work.device, 0) for array in arrays]
    for name, value in zip(onnx_graph.NAMES[work.task], values):
        binding.bind_ortvalue_input(name, value)
    for name in outputs:
        binding.bind_output(name, work.device)

    def step(inputs=(arrays, values)):  # the binding may only point to their memory
        session.run_with_iobinding(binding)  # returns when the outputs are there
        return binding

    cache = np.zeros(256 << 20, dtype=np.uint8)
    return Stack(step, lambda bound: [value.numpy().astype(np.float32) for value in bound.get_outputs()],
                 flush=(lambda: cache.fill(1)) if work.device == "cpu" else None, compile_ms=compile_ms,
                 versions={"onnxruntime": ort.__version__, **installed("onnx", "nvidia-")},
                 settings={"provider": provider, **options})


main("onnxruntime", build)
