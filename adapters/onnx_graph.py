"""The workloads as ONNX models, for the stacks that read these. Weights are inputs like the rest."""
from gpuready_bench import HEAD, Unavailable, Unsupported

NAMES = {"mlp": ("x", "w1", "b1", "w2", "b2"), "gemm": ("a", "b"), "copy": ("x",), "attention": ("q", "k", "v"),
         "ternary": ("x", "t")}


def model_of(work, arrays):
    try:
        import onnx
        from onnx import TensorProto, helper
    except ImportError as missing:
        raise Unavailable(f"onnx is not installed ({missing}): pip install onnx")
    kind = {"fp32": TensorProto.FLOAT, "tf32": TensorProto.FLOAT, "fp16": TensorProto.FLOAT16,
            "bf16": TensorProto.BFLOAT16}[work.dtype]
    nodes, constants = [], []

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def constant(name, value):
        constants.append(helper.make_tensor(name, kind, [], [value]))
        return name

    shapes = {"mlp": {"y": (work.batch, work.hidden), "z": (work.batch, work.batch), "mean": ()},
              "attention": {"y": (work.batch, work.heads, work.m, HEAD)}}.get(work.task, {"y": (work.m, work.n)})
    outputs = list(shapes)
    if work.task == "mlp":
        # Gelu by erf, in the operators that every opset has.
        h = node("Gemm", ["x", "w1", "b1"], "h", transB=1)
        node("Erf", [node("Mul", [h, constant("root_half", 0.5 ** 0.5)], "h_scaled")], "erf")
        node("Add", ["erf", constant("one", 1.0)], "erf_plus_one")
        node("Mul", [node("Mul", [h, constant("half", 0.5)], "half_h"), "erf_plus_one"], "act")
        node("Gemm", ["act", "w2", "b2"], "y", transB=1)
        node("MatMul", ["y", node("Transpose", ["y"], "y_t", perm=[1, 0])], "z")
        node("ReduceMean", ["z"], "mean", keepdims=0)
    elif work.task == "gemm":
        node("MatMul", ["a", "b"], "y")
    elif work.task == "ternary":
        node("MatMul", ["x", node("Transpose", ["t"], "t_t", perm=[1, 0])], "y")
    elif work.task == "attention":
        node("MatMul", ["q", node("Transpose", ["k"], "k_t", perm=[0, 1, 3, 2])], "scores")
        node("Mul", ["scores", constant("scale", HEAD ** -0.5)], "scaled")
        node("MatMul", [node("Softmax", ["scaled"], "weights", axis=-1), "v"], "y")
    else:
        raise Unsupported(f"ONNX has no {work.task} that copies")
    graph = helper.make_graph(
        nodes, work.task,
        [helper.make_tensor_value_info(name, kind, array.shape) for name, array in zip(NAMES[work.task], arrays)],
        [helper.make_tensor_value_info(name, kind, shapes[name]) for name in outputs], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString(), outputs
