"""gpuready.ternary against plain 64-bit sums and formulas that share nothing with the library. DRIVER, if set, is a
libcuda that executes kernels on the host; GGUF is the script that writes a file; EXAMPLE is examples/ternary.py."""
import copy
import ctypes
import io
import math
import mmap
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

import numpy as np
from gpuready import ternary
from gpuready.ternary import Engine, Gguf, Packed, Status, TernaryError, _library

try:
    import torch
    from gpuready.ternary.torch import TernaryLinear
except ImportError:
    torch = None

SHAPES = [(1, 1, 32), (1, 16, 256), (3, 37, 300), (7, 64, 1024), (17, 130, 500)]


def operands(m, n, k, seed=1):
    random = np.random.default_rng(seed)
    return (random.integers(-1, 2, (n, k)).astype(np.int8), random.random(n, np.float32) + np.float32(0.5),
            random.standard_normal((m, k)).astype(np.float32))


class Case(unittest.TestCase):
    def refuses(self, status, text, function, *arguments, **options):
        with self.assertRaises(TernaryError) as wrong:
            function(*arguments, **options)
        self.assertEqual(wrong.exception.status, status)
        self.assertIn(text, str(wrong.exception))


class Arrays(Case):
    def setUp(self):
        self.engine = Engine("cpu")

    def test_sums_of_codes_are_exact(self):
        for m, n, k in SHAPES:
            w, scales, x = operands(m, n, k)
            codes = (x * 40).clip(-128, 127).astype(np.int8)
            out = self.engine.multiply_int(self.engine.load_codes(w, scales), codes)
            np.testing.assert_array_equal(out, codes.astype(np.int64) @ w.astype(np.int64).T)

    def test_products_follow_the_formula(self):
        """Activations as bitnet.cpp quantises them; the last two factors may be rounded twice."""
        for m, n, k in SHAPES:
            w, scales, x = operands(m, n, k)
            most = np.maximum(np.abs(x).max(1, keepdims=True), np.float32(1e-5))
            q = np.rint(x * (np.float32(127) / most)).clip(-128, 127).astype(np.int64)
            exact = (q @ w.astype(np.int64).T) * (most.astype(np.float64) / 127) * scales.astype(np.float64)
            got = self.engine.multiply(self.engine.load_codes(w, scales), x)
            self.assertEqual((got.shape, got.dtype), ((m, n), np.float32))
            np.testing.assert_allclose(got, exact, rtol=2.5e-7, atol=0)

    def test_bias_residual_and_types(self):
        m, n, k = SHAPES[2]
        w, scales, x = operands(m, n, k)
        bias, residual = operands(m, n, k, 2)[1], operands(m, n, n, 3)[2]
        weights = self.engine.load_codes(w, scales)
        wanted = (self.engine.multiply(weights, x) + bias) + residual
        np.testing.assert_array_equal(self.engine.multiply(weights, x, bias=bias, residual=residual), wanted)
        out = residual.copy()
        self.assertIs(self.engine.multiply(weights, x, out, bias=bias, residual=out), out)
        np.testing.assert_array_equal(out, wanted)
        half = self.engine.multiply(weights, x, np.empty((m, n), np.float16))
        np.testing.assert_array_equal(half, self.engine.multiply(weights, x).astype(np.float16))
        narrow = x.astype(np.float16)
        np.testing.assert_array_equal(self.engine.multiply(weights, narrow),
                                      self.engine.multiply(weights, narrow.astype(np.float32)))
        self.assertEqual(self.engine.multiply(weights, x[0]).shape, (n,))
        self.assertEqual(self.engine.multiply(weights, x.reshape(1, m, k)).shape, (1, m, n))

    def test_scales_by_group(self):
        w, _, x = operands(2, 3, 64)
        scales = np.arange(1, 7, dtype=np.float32)
        got = self.engine.multiply(self.engine.load_codes(w, scales, group=32), x)
        by_weight = w * np.repeat(scales, 32).reshape(3, 64)
        most = np.abs(x).max(1, keepdims=True)
        q = np.rint(x * (np.float32(127) / most))
        np.testing.assert_allclose(got, (q @ by_weight.T.astype(np.float64)) * (most / 127), rtol=1e-6)

    def test_quantise_writes_what_bitnet_rs_writes(self):
        values = operands(1, 1, 256)[2]
        data, scales = self.engine.quantise(values, "i2_s-bitnet-rs")
        wanted = np.abs(values.reshape(8, 32)).max(1) / np.float32(1.5)
        np.testing.assert_array_equal(scales, wanted)
        v = values.reshape(8, 32) / wanted[:, None]
        codes = np.where(v > 0.5, 1, np.where(v < -0.5, 3, 0)).astype(np.uint8).reshape(-1, 4)
        np.testing.assert_array_equal(data, codes[:, 0] | codes[:, 1] << 2 | codes[:, 2] << 4 | codes[:, 3] << 6)
        x = np.ones((1, 256), np.float32)
        by_bytes = self.engine.load_bytes("i2_s-bitnet-rs", 1, 256, data, scales)
        by_values = self.engine.load_values(values, "i2_s-bitnet-rs", rule="of-format")
        np.testing.assert_array_equal(self.engine.multiply(by_bytes, x), self.engine.multiply(by_values, x))

    def test_saved_weights_are_used_in_place(self):
        values, x = operands(1, 48, 256)[0].astype(np.float32), operands(1, 48, 256)[2]
        for form in ("two-bit", "three-trits"):
            packed = Packed.from_values(values, form=form, threads=1)
            self.assertEqual(packed.shape, (48, 256))
            wanted = self.engine.multiply(self.engine.load(packed), x)
            with tempfile.TemporaryDirectory() as folder:
                packed.save(f"{folder}/w")
                self.assertEqual(os.listdir(folder), ["w"])
                weights = self.engine.load(Packed.open(f"{folder}/w"))  # the mapping lives as long as the weights
                np.testing.assert_array_equal(self.engine.multiply(weights, x), wanted)
                damaged = bytearray(pathlib.Path(folder, "w").read_bytes())
                damaged[100] ^= 1  # in a panel, behind the header
                pathlib.Path(folder, "damaged").write_bytes(damaged)
                with self.assertRaises(TernaryError):
                    Packed.open(f"{folder}/damaged")
                pathlib.Path(folder, "empty").touch()
                self.refuses(Status.TRUNCATED, "empty is empty", Packed.open, f"{folder}/empty")

    def test_gguf(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/model.gguf"
            subprocess.run([sys.executable, os.environ["GGUF"], path, "tq2"], check=True)
            with Gguf(path) as file, Gguf(pathlib.Path(path).read_bytes()) as same:
                self.assertEqual(file.tensors(), same.tensors())
                one = next(tensor for tensor in file.tensors() if tensor.ggml_type == 35)
                packed = file.pack(one.name)
                self.refuses(Status.NOT_FOUND, "no tensor of this name", file.pack, "other")
            self.assertEqual(packed.shape, (one.rows, one.cols))
            self.assertEqual(ternary.inspect(path).tensors[0].name, one.name)  # the program, by the older functions

    def test_what_cannot_be_used_in_place_is_refused(self):
        w, scales, x = operands(2, 16, 256)
        weights, multiply = self.engine.load_codes(w, scales), self.engine.multiply
        wrong = Status.BAD_ARGUMENT
        self.refuses(wrong, "x holds float64; it must be float32 or float16 or bfloat16", multiply, weights, x.astype(float))
        self.refuses(wrong, "x do not follow each other", multiply, weights, np.asfortranarray(x))
        self.refuses(wrong, "x do not follow each other", multiply, weights, np.zeros((2, 512), np.float32)[:, ::2])
        self.refuses(wrong, "x holds >f4", multiply, weights, x.astype(">f4"))
        self.refuses(wrong, "x is a list", multiply, weights, [1.0])
        self.refuses(Status.WRONG_SIZE, "its last dimension must be 256", multiply, weights, x[:, :255].copy())
        self.refuses(Status.WRONG_SIZE, "the product needs 16", multiply, weights, x, bias=np.zeros(1, np.float32))
        fixed = np.zeros((2, 16), np.float32)
        fixed.flags.writeable = False
        self.refuses(wrong, "out is read-only", multiply, weights, x, fixed)
        x.flags.writeable = False
        self.assertEqual(multiply(weights, x).shape, (2, 16))
        self.refuses(Status.NOT_FINITE, "", multiply, weights, np.full((1, 256), np.nan, np.float32))
        self.refuses(Status.AMBIGUOUS_FORMAT, "i2_s-x86", Packed.from_values, x, "I2_S")
        self.refuses(wrong, "rule is 'mean'; it must be of-format or absmean", Packed.from_values, x, rule="mean")
        self.refuses(wrong, "abacus", Engine, "abacus")

    def test_handles_end(self):
        w, scales, x = operands(1, 16, 256)
        with Engine("cpu") as engine, engine.load_codes(w, scales) as weights:
            engine.multiply(weights, x)
            stats = engine.stats()
            self.assertEqual((stats["matmul_operations"], stats["device_type"]), (1, "cpu"))
            self.assertTrue(engine.kernel and engine.summary().startswith("cpu"))
        with self.assertRaisesRegex(ValueError, "this Engine is closed"):
            engine.summary()
        with self.assertRaisesRegex(ValueError, "this Weights is closed"):
            self.engine.multiply(weights, x)
        weights.close()
        self.assertIsNone(pickle.loads(pickle.dumps(self.engine)))

    def test_what_must_not_change_is_not_written(self):
        packed = Packed.from_values(operands(1, 16, 256)[0].astype(np.float32))
        fixed = np.zeros(packed.saved_bytes, np.uint8)
        fixed.flags.writeable = False
        for buffer in (bytes(packed.saved_bytes), memoryview(bytes(packed.saved_bytes)), fixed):
            self.refuses(Status.BAD_ARGUMENT, "buffer is read-only", packed.save_into, buffer)
            self.assertFalse(any(bytes(buffer)))
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "w").write_bytes(bytes(packed.saved_bytes))
            mapped = np.memmap(f"{folder}/w", np.uint8, "r")
            self.refuses(Status.BAD_ARGUMENT, "buffer is read-only", packed.save_into, mapped)
        room = [bytearray(packed.saved_bytes), np.zeros(packed.saved_bytes, np.uint8)]
        for buffer in (*room, memoryview(bytearray(packed.saved_bytes))):
            packed.save_into(buffer)
            self.assertEqual(bytes(buffer[:8]), bytes(room[0][:8]))
            self.assertTrue(any(buffer))

    def test_any_buffer_is_read_in_place(self):
        values, x = operands(1, 48, 256)[0].astype(np.float32), operands(1, 48, 256)[2]
        packed = Packed.from_values(values)
        wanted = self.engine.multiply(self.engine.load(packed), x)
        with tempfile.TemporaryDirectory() as folder:
            packed.save(f"{folder}/w")
            subprocess.run([sys.executable, os.environ["GGUF"], f"{folder}/model.gguf", "tq2"], check=True)
            data = pathlib.Path(folder, "model.gguf").read_bytes()
            with open(f"{folder}/w", "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        for source in (mapped, memoryview(mapped)):  # a page's address is a multiple of 64
            with Packed.open(source) as same:
                np.testing.assert_array_equal(self.engine.multiply(self.engine.load(same), x), wanted)
        self.assertRaises(BufferError, mapped.close)  # `source` is still exported
        del source
        mapped.close()
        for source in (data, memoryview(data), bytearray(data)):
            self.assertEqual(Gguf(source).tensors(), Gguf(data).tensors())
        self.refuses(Status.BAD_ARGUMENT, "data is a list", Packed.from_bytes, "tq2_0", 1, 256, [0] * 66)
        self.refuses(Status.BAD_ARGUMENT, "do not follow each other", Packed.from_bytes, "tq2_0", 1, 256,
                     memoryview(bytes(132))[::2])

    def test_numbers_and_names_are_not_cut(self):
        values, wrong = np.ones((4, 256), np.float32), Status.BAD_ARGUMENT
        self.refuses(wrong, "threads is 4294967297; it must be 0 to 4294967295", Packed.from_values, values, threads=2**32 + 1)
        self.refuses(wrong, "threads is 4294967297; it must be 0 to 4294967295", Engine, "cpu", threads=2**32 + 1)
        self.refuses(wrong, "threads is -1", Engine, "cpu", threads=-1)
        self.refuses(wrong, "memory_limit_bytes is -1", Engine, "cpu", memory_limit_bytes=-1)
        self.refuses(wrong, "rows is 18446744073709551680", Packed.from_bytes, "tq2_0", 2**64 + 64, 256, bytes(64 * 66))
        self.refuses(wrong, "group is 18446744073709551616", self.engine.load_codes, np.ones((4, 256), np.int8),
                     np.ones(4, np.float32), group=2**64)
        self.assertEqual(Packed.from_bytes("tq2_0", np.int64(1), np.int32(256), bytes(66)).shape, (1, 256))
        for function in (Packed.from_values, self.engine.load_values, self.engine.quantise):
            self.refuses(wrong, "format is 'tq2_0\\x00x', which has a NUL", function, values, "tq2_0\0x")
        self.refuses(wrong, "target is 'cpu\\x00x', which has a NUL", Engine, "cpu\0x")
        self.refuses(wrong, "tier is 'scalar\\x00', which has a NUL", Engine, "cpu", tier="scalar\0")

    def test_a_closed_handle_ends_after_its_last_call(self):
        library, begun, go_on, destroyed, texts = _library.library(), threading.Event(), threading.Event(), [], []

        class Slow:
            def __getattr__(self, name):
                def function(*arguments):
                    if name.endswith("summary"):
                        begun.set()
                        go_on.wait(60)
                    if name.endswith("_destroy"):
                        destroyed.append(name)
                    return getattr(library, name)(*arguments)
                return function
        engine = Engine("cpu")
        with unittest.mock.patch.object(_library, "library", Slow):
            thread = threading.Thread(target=lambda: texts.append(engine.summary()))
            thread.start()
            begun.wait(60)
            engine.close()
            early = list(destroyed)
            with self.assertRaisesRegex(ValueError, "this Engine is closed"):
                engine.summary()
            go_on.set()
            thread.join()
            engine.close()
        self.assertEqual((early, destroyed), ([], ["gpuready_ternary_engine_destroy"]))
        self.assertTrue(texts[0].startswith("cpu"))

    def test_a_faked_gpu_executes_nothing(self):
        script = "from gpuready.ternary import Engine; engine = Engine('cuda'); print(engine.fallbacks())"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                              env={**os.environ, "GPUREADY_FAKE": "cuda"})
        self.assertIn("GPUREADY_FAKE", done.stdout, done.stderr)

    def test_a_missing_library_is_named_at_the_first_call(self):
        script = "from gpuready.ternary import Engine; print('imported'); Engine('cpu')"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                              env={**os.environ, "GPUREADY_TERNARY_LIBRARY": "/none.so"})
        self.assertEqual(done.stdout, "imported\n")
        self.assertIn("GPUREADY_TERNARY_LIBRARY names /none.so", done.stderr)
        with unittest.mock.patch.object(ctypes, "CDLL", side_effect=OSError("none")), unittest.mock.patch.dict(os.environ):
            del os.environ["GPUREADY_TERNARY_LIBRARY"]
            self.refuses(None, "(none). The wheel has the program, not the library: build it", _library._found)

    def test_the_example(self):
        done = subprocess.run([sys.executable, os.environ["EXAMPLE"]], capture_output=True, text=True,
                              env={**os.environ, "GPUREADY_TERNARY_DEVICE": "cpu"})
        self.assertIn("numpy: -14.00 -14.33 28.33", done.stdout, done.stderr)


@unittest.skipIf(torch is None, "torch is not installed here")
class Torch(Case):
    def setUp(self):
        torch.manual_seed(1)

    def layer(self, n=48, k=256, bias=True):
        return torch.nn.Linear(k, n, bias=bias)

    def bits(self, layer, x, y):
        """Equals what the engine computes on the CPU from numpy's copies."""
        bias = None if layer.bias is None else layer.bias.float().cpu().numpy()
        with Engine("cpu") as engine, Packed.open(layer.packed.cpu()) as packed:
            wanted = engine.multiply(engine.load(packed), x.float().cpu().contiguous().numpy(), bias=bias)
        self.assertEqual((y.dtype, y.device), (x.dtype, x.device))
        self.assertTrue(torch.equal(y.cpu(), torch.from_numpy(wanted).to(x.dtype)))

    def test_the_operator_has_the_engines_bits(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            for bias in (False, True):
                layer = TernaryLinear.from_float(self.layer(bias=bias)).to(dtype)
                x = torch.randn(2, 3, 256).to(dtype)
                self.bits(layer, x, layer(x))
                self.bits(layer, x.transpose(0, 1), layer(x.transpose(0, 1)))
        self.assertEqual(layer(torch.empty(0, 256)).shape, (0, 48))
        self.assertIn("in_features=256, out_features=48, bias=True", repr(layer))

    def test_weights_are_those_of_absmean(self):
        """BitNet b1.58: scale is the mean of |w|, codes are w / scale, rounded and clamped."""
        linear = self.layer(bias=False)
        w = linear.weight.detach()
        scale = w.abs().mean()
        codes = (w / scale).round().clamp(-1, 1)
        x = torch.eye(256)  # quantised without loss
        torch.testing.assert_close(TernaryLinear.from_float(linear)(x), (codes * scale).t().contiguous())

    def test_state_copies_and_changes(self):
        one, two = (TernaryLinear.from_float(self.layer()) for _ in range(2))
        x = torch.randn(3, 256)
        wanted, other = one(x), two(x)
        self.assertFalse(torch.equal(wanted, other))
        self.assertTrue(torch.equal(copy.deepcopy(one)(x), wanted))
        file = io.BytesIO()
        torch.save(one.state_dict(), file)
        file.seek(0)
        two.load_state_dict(torch.load(file))  # in place: what was loaded from the buffer is stale
        self.assertTrue(torch.equal(two(x), wanted))
        again = TernaryLinear(one.packed.clone(), one.bias)
        self.assertEqual((again.in_features, again.out_features), (256, 48))
        self.assertTrue(torch.equal(again(x), wanted))
        with torch.inference_mode():
            self.assertTrue(torch.equal(one(x), wanted))
        with self.assertRaises(TernaryError):
            TernaryLinear(one.packed[:100].clone())
        shifted = torch.cat([one.packed[:1], one.packed])[1:]  # not at a multiple of 64
        self.assertTrue(torch.equal(TernaryLinear(shifted, one.bias)(x), wanted))

    def test_it_is_traced(self):
        from torch.fx.experimental.proxy_tensor import make_fx
        layer, x = TernaryLinear.from_float(self.layer()), torch.randn(3, 256)
        graph = make_fx(lambda *it: torch.ops.gpuready.ternary_linear(it[0], it[1], 48, it[2]), tracing_mode="fake")(
            x, layer.packed, layer.bias)
        self.assertIn("gpuready.ternary_linear", graph.code)
        with torch.inference_mode():
            self.assertEqual(layer.to("meta")(x.to("meta")).shape, (3, 48))

    @unittest.skipIf(torch is not None and not hasattr(torch, "compile"), "this torch has no torch.compile")
    def test_torch_compile(self):
        layer = TernaryLinear.from_float(self.layer())
        model = torch.nn.Sequential(layer, torch.nn.ReLU(), TernaryLinear.from_float(self.layer(16, 48)))
        x = torch.randn(3, 256)
        headers = pathlib.Path(torch.__file__).parent / "include/ATen/NumericUtils.h"  # of another package in Debian
        for backend in ("eager", "aot_eager", *(["inductor"] if headers.exists() and shutil.which("g++") else [])):
            torch._dynamo.reset()
            compiled = torch.compile(model, fullgraph=True, backend=backend)
            with torch.no_grad():
                for rows in (3, 5):
                    x = torch.randn(rows, 256)
                    self.assertTrue(torch.equal(compiled(x), model(x)), backend)
        if hasattr(torch.library, "opcheck"):
            arguments = (x, layer.packed, 48, layer.bias)
            torch.library.opcheck(torch.ops.gpuready.ternary_linear.default, arguments,
                                  test_utils=("test_schema", "test_faketensor"))

    def test_what_is_wrong(self):
        layer = TernaryLinear.from_float(self.layer())
        for x, text in ((torch.randn(3, 255), "must be 256"), (torch.randn(3, 256).double(), "torch.float64")):
            with self.assertRaisesRegex(Exception, text):
                layer(x)
        with self.assertRaisesRegex(Exception, "NaN|finite"):
            layer(torch.full((1, 256), math.nan))

    @unittest.skipIf(torch is None or not torch.cuda.is_available(), "no GPU that torch can use")
    def test_cuda(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            layer = TernaryLinear.from_float(self.layer(390, 1280)).to("cuda", dtype)
            for rows in (1, 2, 17, 130):
                x = torch.randn(rows, 1280, device="cuda").to(dtype)
                self.bits(layer, x, layer(x))
        with self.assertRaisesRegex(Exception, "weights are on cuda"):
            torch.ops.gpuready.ternary_linear(x.cpu(), layer.packed, 390)
        own = torch.cuda.Stream()
        with torch.cuda.stream(own):
            y = layer(x)
        own.synchronize()
        self.bits(layer, x, y)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = layer(x)
        x.copy_(torch.randn_like(x))
        graph.replay()
        torch.cuda.synchronize()
        self.bits(layer, x, y)
        with torch.no_grad():
            for mode in ("default", "reduce-overhead"):
                torch._dynamo.reset()
                compiled = torch.compile(layer, fullgraph=True, mode=mode)
                for _ in range(4):
                    y = compiled(x).clone()
                self.bits(layer, x, y)


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("dims", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]


@unittest.skipIf("DRIVER" not in os.environ, "no driver that executes kernels on the host")
class Cuda(Case):
    """Device memory of the driver, shown by DLPack as torch and CuPy show theirs."""

    @classmethod
    def setUpClass(cls):
        cls.driver = ctypes.CDLL(os.environ["DRIVER"])
        cls.ok("cuInit", 0)
        context = ctypes.c_void_p()
        cls.ok("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        cls.ok("cuCtxSetCurrent", context)

    @classmethod
    def ok(cls, name, *arguments):
        assert getattr(cls.driver, name)(*arguments) == 0, name

    def on_device(self, array):
        test, address = self, ctypes.c_uint64()
        self.ok("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(array.nbytes))
        self.ok("cuMemcpyHtoDAsync_v2", address, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes), None)
        self.ok("cuStreamSynchronize", None)

        class Array:
            shape = (ctypes.c_int64 * array.ndim)(*array.shape)

            def __dlpack__(self, stream=None):
                test.assertIn(stream, (1, None))  # None: for the CPU, which it is not on
                it = self.tensor = DLTensor(address.value, 2, 0, array.ndim, 2 if array.dtype.kind == "f" else 0,
                                            8 * array.itemsize, 1, self.shape, None, 0)
                make = ctypes.pythonapi.PyCapsule_New
                make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
                return make(ctypes.addressof(it), b"dltensor", None)

            def host(self):
                out = np.empty_like(array)
                test.ok("cuMemcpyDtoHAsync_v2", out.ctypes.data_as(ctypes.c_void_p), address, ctypes.c_size_t(out.nbytes), None)
                test.ok("cuStreamSynchronize", None)
                return out
        return Array()

    def test_products_have_the_cpus_bits(self):
        m, n, k = 3, 48, 256
        values, bias, x = operands(m, n, k)
        residual = operands(m, n, n, 3)[2]
        packed, engine, cuda = Packed.from_values(values.astype(np.float32)), Engine("cpu"), ternary.CudaEngine()
        wanted = engine.multiply(engine.load(packed), x, bias=bias, residual=residual)
        weights, room = cuda.load(packed), cuda.activations(m, k)
        self.assertEqual((weights.shape, weights.nbytes > 0), ((n, k), True))
        self.assertTrue(cuda.kernel(weights, m))
        cuda.prepare(weights, m)
        self.assertEqual(cuda.workspace_bytes(weights, m), 0)
        on = self.on_device
        y = cuda.multiply(weights, on(x), on(np.zeros((m, n), np.float32)), room, bias=on(bias), residual=on(residual))
        np.testing.assert_array_equal(y.host(), wanted)
        self.assertEqual(cuda.quantise(on(x), room, k), m)
        y = cuda.multiply_quantised(weights, room, m, on(np.zeros((m, n), np.float32)))
        np.testing.assert_array_equal(y.host(), engine.multiply(engine.load(packed), x))
        sums = cuda.multiply_quantised(weights, room, m, on(np.zeros((m, n), np.int32)))
        self.assertEqual(sums.host().dtype, np.int32)
        cuda.check(room, m)
        double = cuda.load(packed, packed)
        self.assertEqual(double.shape, (2 * n, k))
        self.refuses(Status.BAD_ARGUMENT, "x is on the CPU; it must be on a CUDA device", cuda.multiply, weights, x, y, room)
        self.refuses(Status.BAD_ARGUMENT, "x is on a CUDA device", engine.multiply, engine.load(packed), on(x))
        cuda.quantise(on(np.full((m, k), np.inf, np.float32)), room, k)
        self.refuses(Status.NOT_FINITE, "", cuda.check, room, m)


if __name__ == "__main__":
    unittest.main()
