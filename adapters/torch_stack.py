"""What the adapters of PyTorch share."""
import time

from gpuready_bench import HEAD, Stack, Unavailable, Unsupported, installed


def load(work):
    try:
        import torch
    except ImportError as missing:
        raise Unavailable(f"PyTorch is not installed ({missing}): pip install torch")
    if work.device not in ("cpu", "cuda"):
        raise Unsupported(f"this adapter runs on cpu and cuda, not on {work.device}")
    if work.device == "cuda" and not torch.cuda.is_available():
        raise Unavailable(f"PyTorch {torch.__version__} sees no CUDA device: install a build with CUDA "
                          "and check the driver with `gpuready doctor`")
    tf32 = work.dtype == "tf32"
    if tf32 and work.device == "cpu":
        raise Unsupported("tf32 is a mode of GPUs")
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.set_grad_enabled(False)
    return torch


def function_of(torch, work):
    functional = torch.nn.functional

    def mlp(x, w1, b1, w2, b2):
        y = functional.linear(functional.gelu(functional.linear(x, w1, b1)), w2, b2)
        z = y @ y.t()
        return y, z, z.mean()

    def attention(q, k, v):
        if hasattr(functional, "scaled_dot_product_attention"):
            return (functional.scaled_dot_product_attention(q, k, v),)
        return (torch.softmax((q @ k.transpose(-1, -2)) * HEAD ** -0.5, dim=-1) @ v,)

    return {"mlp": mlp, "attention": attention, "gemm": lambda a, b: (a @ b,),
            "copy": lambda x: (x.clone(),), "ternary": lambda x, t: (x @ t.t(),)}[work.task]


def library_versions(torch, work):
    """Of the CUDA and cuDNN that it was built with, or that it has loaded."""
    if work.device != "cuda":
        return {}
    return {"cuda": str(torch.version.cuda), "cudnn": str(torch.backends.cudnn.version())}


def stack(work, torch, function, versions=None, compiled=False):
    dtype = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16,
             "fp16": torch.float16}[work.dtype]
    inputs = [torch.from_numpy(array).to(work.device, dtype) for array in work.inputs()]
    facts = {"versions": {"torch": torch.__version__, **installed("nvidia-", "triton", "intel-openmp", "mkl"),
                          **library_versions(torch, work), **(versions or {})},
             "settings": {"threads": torch.get_num_threads(),
                          "float32_matmul_precision": torch.get_float32_matmul_precision()}}
    step = lambda: function(*inputs)  # noqa: E731
    if compiled:
        start = time.perf_counter()
        step()
        if work.device == "cuda":
            torch.cuda.synchronize()
        facts["compile_ms"] = (time.perf_counter() - start) * 1e3

    def to_numpy(outputs):
        return [tensor.detach().float().cpu().numpy() for tensor in outputs]

    if work.device == "cpu":
        cache = torch.empty(256 << 20, dtype=torch.uint8)
        return Stack(step, to_numpy, flush=lambda: cache.fill_(1), **facts)
    torch.cuda.reset_peak_memory_stats()
    peak = torch.cuda.max_memory_allocated
    properties = torch.cuda.get_device_properties(0)
    cache = torch.empty(2 * max(getattr(properties, "L2_cache_size", 0), 64 << 20), dtype=torch.uint8,
                        device="cuda")
    return Stack(step, to_numpy, wait=lambda outputs: torch.cuda.synchronize(),
                 events=lambda: torch.cuda.Event(enable_timing=True), flush=lambda: cache.fill_(1),
                 peak_memory=lambda: peak() - cache.numel(), device_name=properties.name, **facts)
