#!/usr/bin/env python3
"""XLA through JAX: the workload as one jitted function."""
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # so that memory is what is used
# An isolated Python does not look beside the script.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from gpuready_bench import HEAD, Stack, Unavailable, Unsupported, installed, main  # noqa: E402


def functions(jax, jnp, work):
    # HIGHEST keeps fp32 products from running in tf32; narrower types have one precision.
    exact = jax.lax.Precision.HIGHEST if work.dtype == "fp32" else jax.lax.Precision.DEFAULT
    dot = lambda a, b, dims: jax.lax.dot_general(a, b, (dims, ((), ())), precision=exact)  # noqa: E731

    def mlp(x, w1, b1, w2, b2):
        # JAX would evaluate erf in the narrow type; others compute in fp32 and round once.
        h = (dot(x, w1, ((1,), (1,))) + b1).astype(jnp.float32)
        a = jax.nn.gelu(h, approximate=False).astype(x.dtype)
        y = dot(a, w2, ((1,), (1,))) + b2
        z = dot(y, y, ((1,), (1,)))
        return y, z, jnp.mean(z, dtype=jnp.float32)

    def attention(q, k, v):
        scores = jnp.einsum("bhsd,bhtd->bhst", q, k, precision=exact,
                            preferred_element_type=jnp.float32) * HEAD ** -0.5
        weights = jax.nn.softmax(scores, axis=-1).astype(q.dtype)
        return (jnp.einsum("bhst,bhtd->bhsd", weights, v, precision=exact),)

    return {"mlp": mlp, "attention": attention, "gemm": lambda a, b: (dot(a, b, ((1,), (0,))),),
            "copy": lambda x: (jnp.copy(x),), "ternary": lambda x, t: (dot(x, t, ((1,), (1,))),)}[work.task]


def build(work):
    if work.device not in ("cpu", "cuda"):
        raise Unsupported(f"this adapter runs on cpu and cuda, not on {work.device}")
    os.environ["JAX_PLATFORMS"] = work.device
    try:
        import jax
        import jax.numpy as jnp
    except ImportError as missing:
        raise Unavailable(f"JAX is not installed ({missing}): pip install jax, or jax[cuda13] for a GPU")
    if work.dtype == "tf32" and work.device == "cpu":
        raise Unsupported("tf32 is a mode of GPUs")
    arrays = work.inputs()
    try:
        device = jax.devices()[0]
    except RuntimeError as error:
        raise Unavailable(f"JAX {jax.__version__} finds no {work.device} device: {str(error)[:300]}")
    dtype = {"fp32": jnp.float32, "tf32": jnp.float32, "bf16": jnp.bfloat16, "fp16": jnp.float16}[work.dtype]
    inputs = [jax.device_put(jnp.asarray(array, dtype=dtype), device) for array in arrays]
    start = time.perf_counter()
    compiled = jax.jit(functions(jax, jnp, work))  # called as it is: a compiled one has a slower way in
    jax.block_until_ready(compiled(*inputs))
    compile_ms = (time.perf_counter() - start) * 1e3
    cache = jax.device_put(jnp.zeros(256 << 20, jnp.uint8), device)
    touch = jax.jit(lambda c: c + jnp.uint8(1))

    def peak():
        told = device.memory_stats() or {}
        return told.get("peak_bytes_in_use") or 0

    def to_numpy(outputs):
        return [jnp.asarray(array, dtype=jnp.float32).__array__() for array in outputs]

    facts = {"peak_memory": peak} if device.memory_stats() else {}
    return Stack(lambda: compiled(*inputs), to_numpy, wait=jax.block_until_ready, compile_ms=compile_ms,
                 flush=lambda: jax.block_until_ready(touch(cache)), device_name=device.device_kind,
                 versions={"jax": jax.__version__, **installed("jaxlib", "jax-cuda", "nvidia-")}, **facts)


main("xla", build)
