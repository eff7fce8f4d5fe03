"""model.py write FILE: a model of two layers in the shape of BitNet b1.58, random weights in TQ1_0 and TQ2_0.
model.py forward FILE LIBRARY TARGET: its linear layers through the C interface, on each CPU tier or on "cuda", against
numpy in the order of sums that docs/ternary.md states. The bits must be the same."""
import ctypes
import sys

import gguf
import numpy as np

HIDDEN, KV, INNER, LAYERS, BLOCK = 512, 256, 1280, 2, 256
SHAPES = {"attn_q": (HIDDEN, HIDDEN), "attn_k": (KV, HIDDEN), "attn_v": (KV, HIDDEN), "attn_output": (HIDDEN, HIDDEN),
          "ffn_gate": (INNER, HIDDEN), "ffn_up": (INNER, HIDDEN), "ffn_down": (HIDDEN, INNER)}
F32 = np.float32


def write(path):
    random = np.random.default_rng(58)
    writer = gguf.GGUFWriter(path, "bitnet")
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_tensor("token_embd.weight", random.standard_normal((64, HIDDEN)).astype(np.float16))
    for layer in range(LAYERS):
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", np.ones(HIDDEN, F32))
        for i, (name, shape) in enumerate(SHAPES.items()):
            kind = gguf.GGMLQuantizationType.TQ1_0 if (i + layer) % 2 else gguf.GGMLQuantizationType.TQ2_0
            weights = random.standard_normal(shape).astype(F32)
            weights *= np.repeat(np.exp(random.standard_normal((shape[0], shape[1] // BLOCK))), BLOCK, 1).astype(F32)
            weights[1::3] = np.copysign(F32(0.37), weights[1::3])  # rows of one scale
            weights[:2, :BLOCK] = 0  # a block's scale is 0
            writer.add_tensor(f"blk.{layer}.{name}.weight", gguf.quants.quantize(weights, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("target", ctypes.c_char_p), ("strict", ctypes.c_int32),
                ("force_cpu_fallback", ctypes.c_int32), ("memory_limit_bytes", ctypes.c_uint64),
                ("expected_bytes", ctypes.c_uint64), ("threads", ctypes.c_uint32), ("breaker_errors", ctypes.c_int32),
                ("breaker_retry_calls", ctypes.c_uint64), ("breaker_cool_down_ms", ctypes.c_uint64),
                ("tier", ctypes.c_char_p), ("pool_run", ctypes.c_void_p), ("pool_context", ctypes.c_void_p),
                ("pool_threads", ctypes.c_uint32)]


class Numpy:
    """The reference: codes and scales as gguf-py reads them, sums as the docs state them."""

    def load(self, tensor):
        rows, cols = tensor.data.shape[0], int(tensor.shape[0])
        raw = tensor.data.reshape(rows, cols // BLOCK, -1)
        scales = raw[:, :, -2:].copy().view(np.float16).astype(F32)[:, :, 0]
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(rows, cols // BLOCK, BLOCK)
        return np.sign(values).astype(np.int32) * np.where(scales < 0, -1, 1)[:, :, None], scales

    def multiply(self, weights, x):
        codes, scales = weights
        limit = np.maximum(F32(1e-5), np.abs(x).max(1))
        q = np.clip(np.rint(x * (F32(127) / limit)[:, None]), -128, 127).astype(np.int32)
        step = limit / F32(127)
        sums = [q[:, group * BLOCK:(group + 1) * BLOCK] @ codes[:, group].T for group in range(scales.shape[1])]
        by_group = np.zeros((x.shape[0], codes.shape[0]), F32)
        for group, of_group in enumerate(sums):
            by_group = by_group + of_group.astype(F32) * scales[:, group]
        bits = scales.view(np.uint32)
        one_scale = (bits == bits[:, :1]).all(1)
        by_row = sum(sums).astype(F32) * (step[:, None] * scales[:, 0])
        return np.where(one_scale, by_row, by_group * step[:, None])


class Library:
    def __init__(self, path, target, tier):
        self.c = ctypes.CDLL(path)
        options = Options(size=ctypes.sizeof(Options), target=target.encode(), strict=1, threads=2,
                          tier=tier.encode() if tier else None)
        self.engine = ctypes.c_void_p()
        self.status = self.c.gpuready_ternary_engine_create(ctypes.byref(options), ctypes.byref(self.engine))

    def good(self, status):
        self.c.gpuready_last_error.restype = ctypes.c_char_p
        assert status == 0, self.c.gpuready_last_error()

    def load(self, tensor):
        rows, cols = tensor.data.shape[0], int(tensor.shape[0])
        weights = ctypes.c_void_p()
        name = {gguf.GGMLQuantizationType.TQ1_0: b"tq1_0", gguf.GGMLQuantizationType.TQ2_0: b"tq2_0"}[tensor.tensor_type]
        data = np.ascontiguousarray(tensor.data)
        self.good(self.c.gpuready_ternary_weights_from_bytes(
            self.engine, name, ctypes.c_int64(rows), ctypes.c_int64(cols), data.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_size_t(data.nbytes), None, ctypes.c_size_t(0), ctypes.byref(weights)))
        on_device = ctypes.c_int32()
        self.good(self.c.gpuready_ternary_weights_info(weights, None, None, ctypes.byref(on_device)))
        return weights, rows, on_device.value

    def multiply(self, loaded, x):
        weights, rows, _ = loaded
        out = np.full((x.shape[0], rows), 7, F32)
        x = np.ascontiguousarray(x, F32)
        self.good(self.c.gpuready_ternary_multiply_f32(
            self.engine, weights, x.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(x.size), ctypes.c_int64(x.shape[0]),
            out.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(out.size)))
        return out


def forward(engine, model, x):
    """All outputs of the linear layers, each of what the layers before made."""
    outputs = []
    for layer in range(LAYERS):
        def linear(name, value):
            outputs.append(engine.multiply(model[f"blk.{layer}.{name}.weight"], value))
            return outputs[-1]
        q, k, v = (linear(name, x) for name in ("attn_q", "attn_k", "attn_v"))
        mixed = q + np.concatenate([k, v], 1)
        x = x + linear("attn_output", mixed / np.abs(mixed).max())
        inner = np.maximum(linear("ffn_gate", x), F32(0)) * linear("ffn_up", x)
        x = x + linear("ffn_down", inner / np.abs(inner).max())
        x = x / np.abs(x).max()
    return outputs


def main():
    if sys.argv[1] == "write":
        return write(sys.argv[2])
    path, library, target = sys.argv[2:5]
    tensors = {t.name: t for t in gguf.GGUFReader(path).tensors if t.tensor_type.name.startswith("TQ")}
    assert len(tensors) == LAYERS * len(SHAPES)
    reference = Numpy()
    plain = {name: reference.load(tensor) for name, tensor in tensors.items()}
    tiers = ["scalar", "avx2", "avx-vnni", "avx512-vnni", "amx", "neon", "dotprod", "i8mm"] if target == "cpu" else [None]
    tried = 0
    for tier in tiers:
        engine = Library(library, target, tier)
        if engine.status != 0 and tier:
            print(f"{tier}: not here")
            continue
        engine.good(engine.status)
        model = {name: engine.load(tensor) for name, tensor in tensors.items()}
        assert all(on_device == (target != "cpu") for _, _, on_device in model.values())
        for rows in (1, 3, 20):
            x = np.random.default_rng(rows).standard_normal((rows, HIDDEN)).astype(F32)
            want, got = forward(reference, plain, x), forward(engine, model, x)
            for name, a, b in zip(tensors, want, got):
                assert np.isfinite(a).all() and np.array_equal(a.view(np.uint32), b.view(np.uint32)), (tier, rows, name)
        print(f"{tier or target}: {len(want)} layers of 1, 3 and 20 rows, the same bits as numpy")
        tried += 1
    assert tried > 0, "no tier was tried"


main()
