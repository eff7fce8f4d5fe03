#!/usr/bin/env python3
"""Does `pack explain` say of each file what the driver does with it? On a machine with an NVIDIA GPU:
    tests/pack/real_loads.py GPUREADY FOLDER
FOLDER holds cubins, PTX and fat binaries (tests/pack/load_images.sh). Each is loaded by cuModuleLoadData on the
first GPU, and its kernel is looked up.
    tests/pack/real_loads.py GPUREADY
does the same with what this Python has of PyTorch, JAX, ONNX Runtime, CuPy and cuDNN: a program computes with each on
the first GPU. What works must load by explain; where explain says that a library of it loads nowhere, it must fail.
Prints a table, or what differs, then one line; exit 1: something differs, or nothing was there to be compared."""
import ctypes
import importlib.util
import json
import os
import subprocess
import sys

os.environ["CUDA_CACHE_DISABLE"] = "1"

# What is explained (folders of site-packages), the libraries of it that the program uses, and the program.
PROGRAMS = {
    "torch": (["torch"], ["libtorch_cuda.so", "libtorch_cuda_linalg.so"], """
import torch
a = torch.arange(4096, dtype=torch.float32, device="cuda").reshape(64, 64) % 7
assert torch.equal((a @ a).cpu(), a.cpu() @ a.cpu()), "a product is wrong"
"""),
    "torch with cuDNN": (["torch", "nvidia/cudnn"], ["libcudnn"], """
import torch
assert torch.backends.cudnn.is_available(), "no cuDNN"
x, w = torch.ones(1, 3, 32, 32, device="cuda"), torch.ones(8, 3, 3, 3, device="cuda")
assert torch.nn.functional.conv2d(x, w).eq(27).all(), "a convolution is wrong"
"""),
    "jax": (["jax_cuda12_plugin", "jax_cuda13_plugin", "jax_plugins"], ["xla_cuda_plugin.so"], """
import jax, jax.numpy as jnp
assert jax.devices()[0].platform == "gpu", "JAX sees no GPU"
a = jnp.ones((64, 64))
assert (a @ a == 64).all(), "a product is wrong"
"""),
    "onnxruntime": (["onnxruntime"], ["libonnxruntime_providers_cuda.so"], """
import numpy, onnxruntime
def number(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128); value >>= 7
    return bytes(out + bytes([value]))
def field(at, value):  # of protobuf
    if isinstance(value, int): return number(at << 3) + number(value)
    value = value.encode() if isinstance(value, str) else value
    return number(at << 3 | 2) + number(len(value)) + value
side = field(1, field(1, 64))
matrix = lambda name: field(1, name) + field(2, field(1, field(1, 1) + field(2, side + side)))
node = field(1, "a") + field(1, "a") + field(2, "b") + field(4, "MatMul")
graph = field(1, node) + field(2, "g") + field(11, matrix("a")) + field(12, matrix("b"))
model = field(1, 8) + field(7, graph) + field(8, field(2, 13))
if hasattr(onnxruntime, "preload_dlls"): onnxruntime.preload_dlls()
provider = "CPUExecutionProvider" if "cpu" in __import__("sys").argv else "CUDAExecutionProvider"
session = onnxruntime.InferenceSession(model, providers=[provider])
assert provider in session.get_providers(), "ONNX Runtime fell back to the CPU"
a = numpy.ones((64, 64), numpy.float32)
assert (session.run(None, {"a": a})[0] == 64).all(), "a product is wrong"
"""),
    "cupy": (["cupy", "cupy_backends"], [".so"], """
import cupy
assert int(cupy.arange(1000).sum()) == 499500, "a sum is wrong"
"""),
    "cudnn": (["nvidia/cudnn"], ["libcudnn"], """
import ctypes, glob, importlib.util
folder = importlib.util.find_spec("nvidia").submodule_search_locations[0] + "/cudnn/lib"
handle = ctypes.c_void_p()
code = ctypes.CDLL(sorted(glob.glob(folder + "/libcudnn.so.*"))[0]).cudnnCreate(ctypes.byref(handle))
assert code == 0, f"cudnnCreate: {code}"
"""),
}


def explained(binary, path):
    done = subprocess.run([binary, "pack", "explain", path, "--json"], capture_output=True, text=True)
    return json.loads(done.stdout)["files"] if done.stdout else sys.exit(f"explain {path}: {done.stderr}")


def folders_of(names):
    for name in names:
        top, _, inside = name.partition("/")
        spec = importlib.util.find_spec(top)
        for folder in spec.submodule_search_locations if spec else []:
            if os.path.isdir(os.path.join(folder, inside)):
                yield os.path.join(folder, inside)


def packages(binary):
    rows, differ = [], 0
    for name, (folders, used, program) in PROGRAMS.items():
        files = {file["path"]: file["runs_on"][0] for folder in folders_of(folders) for file in explained(binary, folder)
                 if any(part in os.path.basename(file["path"]) for part in used)}
        if not files or not importlib.util.find_spec(name.split()[0] if name != "cudnn" else "nvidia"):
            rows.append((name, "-", "-", "not here", ""))
            continue
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
        works = done.returncode == 0
        none = [path for path, answer in files.items() if answer["runs"] == "none"]
        agrees = works != bool(none)
        differ += not agrees
        why = "" if works else (done.stderr.strip().splitlines() or ["it died"])[-1]
        said = f"{len(files) - len(none)} of {len(files)} libraries load"
        if none:
            said += f" ({none[0]}: {'; '.join(files[none[0]]['reasons'])})"
        rows.append((name, said, "works" if works else "fails", "agrees" if agrees else "DIFFERS", why[:160]))
    width = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        print("  ".join(text.ljust(width[i]) if i < 4 else text for i, text in enumerate(row)).rstrip())
    compared = sum(row[3] != "not here" for row in rows)
    print(f"{compared} packages compared, {differ} differ")
    return differ > 0 or compared == 0


def images(binary, folder):
    driver = ctypes.CDLL("libcuda.so.1")

    def need(name, *arguments):
        code = getattr(driver, name)(*arguments)
        if code != 0:
            sys.exit(f"real_loads.py: {name}: CUDA driver error {code}")

    def loads(image):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        code = driver.cuModuleLoadData(ctypes.byref(module), image)
        if code == 0:
            need("cuModuleGetFunction", ctypes.byref(function), module, b"ternary_dot")
            need("cuModuleUnload", module)
        return code

    device, context = ctypes.c_int(), ctypes.c_void_p()
    need("cuInit", 0)
    need("cuDeviceGet", ctypes.byref(device), 0)
    need("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    need("cuCtxSetCurrent", context)
    loaded = differences = 0
    names = sorted(os.listdir(folder))
    for name in names:
        path = os.path.join(folder, name)
        files = explained(binary, path)
        answer = files[0]["runs_on"][0] if files else {"runs": "no file", "reasons": []}
        with open(path, "rb") as file:
            code = loads(file.read() + b"\0")
        loaded += code == 0
        if (answer["runs"] == "all") != (code == 0):
            differences += 1
            print(f"{name}: explain says {answer['runs']} {answer['reasons']}, the driver says {code}")
    print(f"{len(names)} files, {loaded} load, {differences} told otherwise")
    return differences > 0 or not names


sys.exit(packages(sys.argv[1]) if len(sys.argv) == 2 else images(*sys.argv[1:3]))
