#!/usr/bin/env python3
"""TVM: the workload in Relax, lowered by its default pipelines for the device."""
import os
import sys
import time

# An isolated Python does not look beside the script.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from gpuready_bench import HEAD, Stack, Unavailable, Unsupported, installed, main  # noqa: E402


def module_of(work, tvm, arrays, dtype):
    from tvm import relax
    builder = relax.BlockBuilder()
    tensor = getattr(relax, "TensorType", None) or relax.TensorStructInfo  # its name before 0.27
    op = relax.op
    names = {"mlp": ("x", "w1", "b1", "w2", "b2"), "gemm": ("a", "b"), "copy": ("x",),
             "attention": ("q", "k", "v"), "ternary": ("x", "t")}[work.task]
    inputs = [relax.Var(name, tensor(array.shape, dtype)) for name, array in zip(names, arrays)]
    with builder.function("main", inputs):
        with builder.dataflow():
            emit = builder.emit
            transposed = lambda t: emit(op.permute_dims(t, [1, 0]))  # noqa: E731
            if work.task == "mlp":
                x, w1, b1, w2, b2 = inputs
                act = emit(op.nn.gelu(emit(op.add(emit(op.matmul(x, transposed(w1))), b1))))
                y = emit(op.add(emit(op.matmul(act, transposed(w2))), b2))
                z = emit(op.matmul(y, transposed(y)))
                out = [y, z, emit(op.mean(z))]
            elif work.task == "gemm":
                out = [emit(op.matmul(*inputs))]
            elif work.task == "ternary":
                out = [emit(op.matmul(inputs[0], transposed(inputs[1])))]
            elif work.task == "attention":
                q, k, v = inputs
                scores = emit(op.matmul(q, emit(op.permute_dims(k, [0, 1, 3, 2]))))
                scaled = emit(op.multiply(scores, relax.const(HEAD ** -0.5, dtype)))
                out = [emit(op.matmul(emit(op.nn.softmax(scaled, axis=-1)), v))]
            else:
                raise Unsupported("this adapter has no copy")
            result = builder.emit_output(relax.Tuple(out))
        builder.emit_func_output(result)
    return builder.get()


def build(work):
    try:
        import numpy as np
        import tvm
        from tvm import relax
    except ImportError as missing:
        raise Unavailable(f"TVM is not installed ({missing}): pip install apache-tvm")
    if work.device not in ("cpu", "cuda") or work.dtype not in ("fp32", "fp16"):
        raise Unsupported(f"this adapter has no {work.dtype} on {work.device}")
    if work.device == "cuda" and not tvm.cuda(0).exist:
        raise Unavailable(f"TVM {tvm.__version__} is built without CUDA or sees no GPU: build it with USE_CUDA=ON")
    dtype = {"fp32": "float32", "fp16": "float16"}[work.dtype]
    arrays = [array.astype(dtype) for array in work.inputs()]
    start = time.perf_counter()
    target = tvm.target.Target("cuda" if work.device == "cuda" else "llvm")
    device = tvm.cuda(0) if work.device == "cuda" else tvm.cpu(0)
    with target:
        built = tvm.compile(module_of(work, tvm, arrays, dtype), target=target)
    machine = relax.VirtualMachine(built, device)
    compile_ms = (time.perf_counter() - start) * 1e3
    place = getattr(tvm.runtime, "tensor", None) or tvm.nd.array
    inputs = [place(array, device) for array in arrays]
    function = machine["main"]
    cache = np.zeros(256 << 20, dtype=np.uint8)
    return Stack(lambda: function(*inputs), lambda outputs: [np.asarray(t.numpy(), np.float32) for t in outputs],
                 wait=(lambda outputs: device.sync()) if work.device == "cuda" else None,
                 flush=(lambda: cache.fill(1)) if work.device == "cpu" else None, compile_ms=compile_ms,
                 versions={"tvm": tvm.__version__, **installed("apache-tvm")}, settings={"target": str(target)})


main("tvm", build)
