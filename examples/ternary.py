#!/usr/bin/env python3
"""Ternary weights from Python through the C interface, with ctypes alone: numpy arrays and torch tensors come
in and go out by DLPack, without a copy; a torch tensor on a GPU is multiplied on torch's current stream.
Usage: ternary.py [LIBRARY], else $GPUREADY_LIBRARY, else libgpuready.so.0 of this system."""
import array
import ctypes as c
import mmap
import os
import sys
import tempfile

F32, F16, BF16 = 0, 1, 2
CPU, CUDA = 1, 2  # DLPack's kinds of device


def load(path):
    lib = c.CDLL(path)
    lib.gpuready_last_error.restype = c.c_char_p
    return lib


class Problem(Exception):
    pass


class DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", c.c_int32), ("device_id", c.c_int32), ("dims", c.c_int32),
                ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("offset", c.c_uint64)]


class Tensor:
    """Address, type, shape and device of what DLPack can name. It lives while the array does."""
    TYPES = {(2, 32): (F32, 4), (2, 16): (F16, 2), (4, 16): (BF16, 2)}  # (float or bfloat, bits)

    def __init__(self, owner, stream=None):
        pointer = c.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
        # The capsule gives the memory back when it goes, so both are kept.
        self.owner = owner
        self.capsule = owner.__dlpack__(stream=stream) if stream is not None else owner.__dlpack__()
        it = c.cast(pointer(self.capsule, b"dltensor"), c.POINTER(DLTensor)).contents
        self.shape = [it.shape[i] for i in range(it.dims)]
        step = 1
        for size, i in zip(reversed(self.shape), reversed(range(it.dims))):
            if it.strides and size != 1 and it.strides[i] != step:
                raise Problem("the array's elements do not follow each other; make it contiguous")
            step *= size
        if (it.code, it.bits) not in self.TYPES or it.lanes != 1:
            raise Problem("the array is not of f32, f16 or bf16")
        self.type, element = self.TYPES[it.code, it.bits]
        self.count, self.bytes = step, step * element
        self.address, self.device = it.data + it.offset, it.device


class Plain:
    """The same of an array.array of floats."""
    type, device = F32, CPU

    def __init__(self, values):
        self.owner = array.array("f", values)
        self.address, self.count = self.owner.buffer_info()
        self.bytes = 4 * self.count


class Ternary:
    def __init__(self, path):
        self.lib = load(path)

    def call(self, name, *arguments):
        if getattr(self.lib, "gpuready_ternary_" + name)(*arguments):
            raise Problem(self.lib.gpuready_last_error().decode())

    def handle(self, name, *arguments):
        made = c.c_void_p()
        self.call(name, *arguments, c.byref(made))
        return made

    def pack(self, values, rows, cols, fmt=b"i2_s-x86", rule=1):
        return self.handle("pack_values", c.c_void_p(values.address), values.type, c.c_size_t(values.count),
                           c.c_int64(rows), c.c_int64(cols), fmt, rule, 0, 0)

    def save(self, packed, file):
        size = c.c_size_t()
        self.call("packed_info", packed, None, None, None, c.byref(size))
        file.truncate(size.value)
        with mmap.mmap(file.fileno(), size.value) as there:
            at = (c.c_char * size.value).from_buffer(there)
            self.call("packed_save", packed, at, size)
            del at

    def view(self, file):
        """The handle, and the mapping, which must stay as long as the handle."""
        there = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE)
        at = c.addressof(c.c_char.from_buffer(there))
        return self.handle("packed_view", c.c_void_p(at), c.c_size_t(len(there)), 0, 0), there

    def multiply(self, engine, weights, x, m, out):
        self.call("multiply", engine, weights, c.c_void_p(x.address), x.type, c.c_size_t(x.count), c.c_int64(m),
                  c.c_void_p(out.address), c.c_size_t(out.count))

    def destroy(self, kind, handle):
        getattr(self.lib, f"gpuready_ternary_{kind}_destroy")(handle)


class TorchLinear:
    """y = x W on torch's current stream; x and y are CUDA tensors of any float type and of bf16 or f32."""

    def __init__(self, ternary, packed, most_rows):
        import torch
        self.t, self.torch = ternary, torch
        torch.cuda.init()
        torch.zeros(1, device="cuda")  # makes the device's primary context this thread's current one
        self.engine = ternary.handle("cuda_create", None)
        stacked = (c.c_void_p * len(packed))(*[p.value for p in packed])
        self.weights = ternary.handle("cuda_load", self.engine, stacked, c.c_size_t(len(packed)))
        n, k = c.c_int64(), c.c_int64()
        ternary.call("cuda_weights_info", self.weights, c.byref(n), c.byref(k), None)
        self.n, self.k = n.value, k.value
        self.room = ternary.handle("cuda_activations_create", self.engine, c.c_int64(most_rows), k)
        self.workspaces = {}

    def prepare(self, m):
        """Before a capture: the code is loaded, and the workspace allocated."""
        size, shape = c.c_size_t(), (c.c_int64(self.n), c.c_int64(self.k), c.c_int64(m))
        self.t.call("cuda_prepare", self.engine, *shape)
        self.t.call("cuda_workspace", self.engine, *shape, c.byref(size))
        self.workspaces[m] = self.torch.empty(size.value, dtype=self.torch.uint8, device="cuda")

    def __call__(self, x, y):
        torch, types = self.torch, {self.torch.float32: F32, self.torch.float16: F16, self.torch.bfloat16: BF16}
        m = x.numel() // self.k
        if m not in self.workspaces:
            self.prepare(m)
        room = self.workspaces[m]
        self.t.call("cuda_multiply_values", self.engine, c.c_void_p(torch.cuda.current_stream().cuda_stream),
                    self.weights, c.c_void_p(x.data_ptr()), types[x.dtype], c.c_size_t(x.nbytes), self.room,
                    c.c_int64(m), c.c_void_p(y.data_ptr()), 2 if y.dtype == torch.bfloat16 else 1,
                    c.c_size_t(y.nbytes), c.c_void_p(room.data_ptr()), c.c_size_t(room.numel()))
        return y

    def close(self):
        self.torch.cuda.synchronize()
        self.t.destroy("cuda_activations", self.room)
        self.t.destroy("cuda_weights", self.weights)
        self.t.destroy("cuda", self.engine)


def on_cpu(t, name, make, read, rows=3, cols=256):
    values = make([0.5 * (i % 3 - 1) for i in range(rows * cols)], (rows, cols))
    x, out = make([float(i // 2) for i in range(cols)], (1, cols)), make([0.0] * rows, (1, rows))
    engine = t.handle("engine_create", None)
    with tempfile.TemporaryFile() as file:
        packed = t.pack(values, rows, cols)
        t.save(packed, file)
        t.destroy("packed", packed)
        viewed, there = t.view(file)
        weights = t.handle("weights_from_packed", engine, viewed)
        t.multiply(engine, weights, x, 1, out)
        print(f"{name}: " + " ".join(f"{value:.2f}" for value in read(out)))
        t.destroy("weights", weights)
        t.destroy("packed", viewed)
        there.close()
    t.destroy("engine", engine)


def on_gpu(t, torch):
    torch.manual_seed(1)
    w, x = torch.randn(64, 256), torch.randn(5, 256)
    packed = t.pack(Tensor(w), 64, 256)
    engine = t.handle("engine_create", None)
    weights, there = t.handle("weights_from_packed", engine, packed), torch.empty(5, 64)
    t.multiply(engine, weights, Tensor(x), 5, Tensor(there))
    linear = TorchLinear(t, [packed], 5)
    own, y = torch.cuda.Stream(), torch.empty(5, 64, device="cuda")
    with torch.cuda.stream(own):
        linear(x.cuda(), y)
    own.synchronize()
    print("torch on", torch.cuda.get_device_name(), "and its own stream: same bits:", bool((y.cpu() == there).all()))
    linear.close()
    for kind, handle in (("weights", weights), ("engine", engine), ("packed", packed)):
        t.destroy(kind, handle)


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("GPUREADY_LIBRARY", "libgpuready.so.0")
    t = Ternary(path)
    on_cpu(t, "array", lambda values, shape: Plain(values), lambda out: out.owner)
    try:
        import numpy
        on_cpu(t, "numpy", lambda values, shape: Tensor(numpy.array(values, numpy.float32).reshape(shape)),
               lambda out: out.owner.ravel())
    except ImportError:
        print("numpy: not installed here")
    try:
        import torch
    except ImportError:
        print("torch: not installed here")
        return
    on_cpu(t, "torch", lambda values, shape: Tensor(torch.tensor(values).reshape(shape)),
           lambda out: out.owner.ravel().tolist())
    if torch.cuda.is_available():
        on_gpu(t, torch)
    else:
        print("torch: no GPU here")


if __name__ == "__main__":
    main()
