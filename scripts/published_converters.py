"""The files and comparisons of published_converters.sh: published_converters.py WORK GPUREADY."""
import ast
import json
import pathlib
import struct
import subprocess
import sys
import types

import gguf
import numpy as np
import safetensors.numpy

work, program = pathlib.Path(sys.argv[1]), sys.argv[2]
ROWS, COLS, SCALE = 64, 512, 0.375
random = np.random.default_rng(7)
CODES = random.integers(-1, 2, (ROWS, COLS)).astype(np.int8)
WEIGHTS = CODES.astype(np.float32) * np.float32(SCALE)


def run(*arguments, want=0):
    made = subprocess.run([program, "ternary", *map(str, arguments)], capture_output=True, text=True)
    if made.returncode != want:
        sys.exit(f"exit {made.returncode}: {' '.join(map(str, arguments))}\n{made.stdout}{made.stderr}")
    return made


def same(values, what):
    if values.shape != WEIGHTS.shape or not np.array_equal(values, WEIGHTS):
        sys.exit(f"FAILED: {what}: other weights")
    print(f"passed: {what}")


def functions_of(source, names, scope):
    """The functions of a published file, without what the file imports."""
    tree = ast.parse((work / source).read_text())
    tree.body = [node for node in tree.body if getattr(node, "name", None) in names]
    exec(compile(tree, source, "exec"), scope)
    return [scope[name] for name in names]


class Tensor(np.ndarray):
    """As much of torch as pack_weights() and unpack_weights() use."""
    device = None

    def to(self, dtype):
        return self.astype(dtype)


def transformers():
    torch = types.SimpleNamespace(
        uint8=np.uint8, dtype=object, Tensor=Tensor, compile=lambda function: function,
        zeros=lambda shape, device=None, dtype=None: np.zeros(shape, dtype).view(Tensor))
    return functions_of("bitnet.py", ["pack_weights", "unpack_weights"],
                        {"torch": torch, "VALUES_PER_ITEM": 4})


def read_gguf(path, name="w.weight"):
    [tensor] = [t for t in gguf.GGUFReader(path).tensors if t.name == name]
    return gguf.dequantize(tensor.data, tensor.tensor_type)


def check(path, layout, named=()):
    """inspect and verify find nothing wrong, and the layout is this one."""
    tensors = json.loads(run("inspect", path, *named, "--json").stdout)["tensors"]
    [tensor] = [t for t in tensors if t["name"] == "w.weight"]
    if layout not in (tensor.get("format"), tensor.get("likely")):
        sys.exit(f"FAILED: {path}: {tensor}")
    run("verify", path, *named, "--device", "cpu")


def there_and_back(path, targets, home):
    """Every way from a file of one format, by each target, to `home`."""
    for target in targets:
        there, back = work / f"{path.stem}-{target}", work / f"{path.stem}-{target}-back.gguf"
        # bitnet.cpp's other layouts, which are less likely in a file than that of x86.
        named = ("--layout", target) if target in ("i2_s-arm", "i2_s-four-row") else ()
        run("convert", path, there, "--to", target, "--force")
        check(there, {"i2_s-bitnet-rs": "i2_s-bitnet-rs-split"}.get(target, target), named)
        run("convert", there, back, *named, "--to", home, "--force")
        same(read_gguf(back), f"{path.name} by {target} to {home}, as gguf reads it")


def ggml_files():
    for kind in ("TQ1_0", "TQ2_0"):
        path, number = work / f"{kind}.gguf", gguf.GGMLQuantizationType[kind]
        writer = gguf.GGUFWriter(path, "bitnet")
        writer.add_tensor("norm.weight", np.ones(COLS, np.float32))
        writer.add_tensor("w.weight", gguf.quantize(WEIGHTS, number), raw_dtype=number)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        check(path, kind.lower())
        other = "tq2_0" if kind == "TQ1_0" else "tq1_0"
        there_and_back(path, [other, "i2_s-x86", "i2_s-arm", "i2_s-four-row", "i2_s-bitnet-rs",
                              "i2_s-bitnet-rs-inline", "bitnet-hf"], kind.lower())


def packed_file():
    pack, unpack = transformers()
    packed = np.asarray(pack(CODES.copy().view(Tensor)))
    same(np.asarray(unpack(packed.view(Tensor), np.float32)) * np.float32(SCALE), "pack_weights() by unpack_weights()")
    path = work / "packed.safetensors"
    safetensors.numpy.save_file({"w.weight": packed, "w.weight_scale": np.array([SCALE], np.float16),
                                 "norm.weight": np.ones(COLS, np.float32)}, path, {"format": "pt"})
    check(path, "bitnet-hf")
    there_and_back(path, ["i2_s-x86", "tq1_0", "i2_s-bitnet-rs-inline"], "tq2_0")
    for target in ("i2_s-x86", "tq2_0"):
        run("convert", work / f"packed-{target}" if target != "tq2_0" else work / "packed-tq1_0-back.gguf",
            work / "again.safetensors", "--to", "bitnet-hf", "--force")
        again = safetensors.numpy.load_file(work / "again.safetensors")
        if not np.array_equal(again["w.weight"], packed):
            sys.exit("FAILED: other bytes than pack_weights() gave")
        same(np.asarray(unpack(again["w.weight"].view(Tensor), np.float32)) * again["w.weight_scale"],
             f"packed.safetensors by {target} and back, as safetensors and unpack_weights() read it")


def bitnet_cpp_file():
    """The bytes are the converter's; the container is ours, because its gguf package is of its fork."""
    [quantise] = functions_of("converter.py", ["quantize_to_i2_s"], {"np": np})
    data = quantise(CODES.astype(np.float32), SCALE).tobytes()
    if data != quantise(WEIGHTS).tobytes():
        sys.exit("FAILED: the converter gives two forms")
    name = b"w.weight"
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", len(name)) + name
    head += struct.pack("<IQQIQ", 2, COLS, ROWS, 36, 0)
    path = work / "i2_s.gguf"
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    check(path, "i2_s-x86")
    there_and_back(path, ["tq1_0", "i2_s-four-row", "bitnet-hf"], "tq2_0")
    run("convert", work / "i2_s-tq1_0", work / "again.gguf", "--to", "i2_s-x86", "--force")
    if not (work / "again.gguf").read_bytes().endswith(data):
        sys.exit("FAILED: other I2_S bytes than the converter gave")
    print("passed: i2_s.gguf by tq1_0 and back has the converter's bytes")


ggml_files()
if (work / "bitnet.py").exists():
    packed_file()
if (work / "converter.py").exists():
    bitnet_cpp_file()
