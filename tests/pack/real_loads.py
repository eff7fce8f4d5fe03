#!/usr/bin/env python3
"""Does `pack explain` say of each file what the driver does with it? On a machine with an NVIDIA GPU:
    tests/pack/real_loads.py GPUREADY FOLDER
FOLDER holds cubins, PTX and fat binaries (tests/pack/load_images.sh). Each is loaded by cuModuleLoadData on the
first GPU, and its kernel is looked up. Prints what differs, then one line; exit 1: something differs."""
import ctypes
import json
import os
import subprocess
import sys

binary, folder = sys.argv[1:3]
driver = ctypes.CDLL("libcuda.so.1")
os.environ["CUDA_CACHE_DISABLE"] = "1"


def need(name, *arguments):
    code = getattr(driver, name)(*arguments)
    if code != 0:
        sys.exit(f"real_loads.py: {name}: CUDA driver error {code}")


device, context = ctypes.c_int(), ctypes.c_void_p()
need("cuInit", 0)
need("cuDeviceGet", ctypes.byref(device), 0)
need("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
need("cuCtxSetCurrent", context)


def loads(image):
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    code = driver.cuModuleLoadData(ctypes.byref(module), image)
    if code == 0:
        need("cuModuleGetFunction", ctypes.byref(function), module, b"ternary_dot")
        need("cuModuleUnload", module)
    return code


loaded = differences = 0
names = sorted(os.listdir(folder))
for name in names:
    path = os.path.join(folder, name)
    done = subprocess.run([binary, "pack", "explain", path, "--json"], capture_output=True, text=True)
    files = json.loads(done.stdout)["files"]
    answer = files[0]["runs_on"][0] if files else {"runs": "no file", "reasons": [done.stderr]}
    code = loads(open(path, "rb").read() + b"\0")
    loaded += code == 0
    if (answer["runs"] == "all") != (code == 0):
        differences += 1
        print(f"{name}: explain says {answer['runs']} {answer['reasons']}, the driver says {code}")
print(f"{len(names)} files, {loaded} load, {differences} told otherwise")
sys.exit(differences > 0 or not names)
