#!/usr/bin/env python3
"""TensorRT: an engine built from the workload's ONNX model. Tensors and timing are PyTorch's."""
import os
import sys
import time

# An isolated Python does not look beside the script.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from gpuready_bench import Unavailable, Unsupported, main  # noqa: E402
import onnx_graph  # noqa: E402
import torch_stack  # noqa: E402


def build(work):
    if work.device != "cuda":
        raise Unsupported("TensorRT runs on NVIDIA GPUs")
    try:
        import tensorrt as trt
    except ImportError as missing:
        raise Unavailable(f"TensorRT is not installed ({missing}): pip install tensorrt")
    torch = torch_stack.load(work)
    arrays = work.inputs()
    start = time.perf_counter()
    model, outputs = onnx_graph.model_of(work, arrays)
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    # Strongly typed: computed in the dtypes of the model and in no other.
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, logger)
    if not parser.parse(model):
        raise RuntimeError("; ".join(str(parser.get_error(i)) for i in range(parser.num_errors)))
    config = builder.create_builder_config()
    if work.dtype != "tf32":
        config.clear_flag(trt.BuilderFlag.TF32)
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    context = engine.create_execution_context()
    compile_ms = (time.perf_counter() - start) * 1e3
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(work.dtype, torch.float32)
    results = tuple(torch.empty(tuple(engine.get_tensor_shape(name)), dtype=dtype, device="cuda") for name in outputs)
    for name, tensor in zip(outputs, results):
        context.set_tensor_address(name, tensor.data_ptr())
    stream = torch.cuda.current_stream().cuda_stream
    bound = False

    def run(*inputs):
        nonlocal bound
        if not bound:
            for name, tensor in zip(onnx_graph.NAMES[work.task], inputs):
                context.set_tensor_address(name, tensor.data_ptr())
            bound = True
        if not context.execute_async_v3(stream):
            raise RuntimeError("TensorRT did not run the engine")
        return results

    made = torch_stack.stack(work, torch, run, versions={"tensorrt": trt.__version__})
    made.compile_ms = compile_ms
    return made


main("tensorrt", build)
