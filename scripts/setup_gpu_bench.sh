#!/usr/bin/env bash
# Prepares a rented Ubuntu or Debian GPU host for `gpuready bench` (docs/gpu-playbook.md):
#   scripts/setup_gpu_bench.sh [--venv FOLDER] [--cpu] [--check]
# 1. the driver: `gpuready doctor` where gpuready is here, else nvidia-smi;
# 2. a Python environment with pinned versions in FOLDER (.venv), of python3 or of what PYTHON names (3.10 to 3.13);
# 3. PyTorch, JAX and ONNX Runtime: each must compute on the GPU, or this fails and says which does not.
# --check does step 3 alone. --cpu wants no GPU (for trying it out). What it did is written to FOLDER/bench-setup.txt.
set -euo pipefail
say() { echo "setup_gpu_bench: $*" >&2; }
die() { say "$*"; exit 1; }
venv=.venv device=cuda check= python=${PYTHON:-python3}
missing=
while [ $# -gt 0 ]; do
  case $1 in
    --venv) [ $# -gt 1 ] || die "--venv wants a folder"; venv=$2; shift ;;
    --cpu) device=cpu ;;
    --check) check=1 ;;
    *) die "$1 is not known; see the head of this script" ;;
  esac
  shift
done

# Pinned: figures of different versions are not compared. Python 3.10 and 3.11 have older last versions of some.
torch=2.11.0 onnx=1.23.1
pins() {
  case $1 in
    3.10) jax=0.6.2 jax_cuda=cuda12 onnxruntime=1.23.2 numpy=2.2.6 ;;
    3.11) jax=0.10.2 jax_cuda=cuda13 onnxruntime=1.30.0 numpy=2.4.6 ;;
    3.12 | 3.13) jax=0.11.2 jax_cuda=cuda13 onnxruntime=1.30.0 numpy=2.5.2 ;;
    *) die "Python $1: versions are pinned for 3.10 to 3.13; PYTHON=python3.12 names one of them" ;;
  esac
  wheels_cuda="torch==$torch jax[$jax_cuda]==$jax onnxruntime-gpu==$onnxruntime onnx==$onnx numpy==$numpy"
  # Of this version PyTorch's own index has a build for the CPU (+cpu), which pip prefers; PyPI's brings CUDA along.
  wheels_cpu="--extra-index-url https://download.pytorch.org/whl/cpu torch==$torch jax==$jax onnxruntime==$onnxruntime onnx==$onnx numpy==$numpy"
}

if [ "$device" = cuda ] && [ -z "$check" ]; then
  if command -v gpuready >/dev/null; then
    gpuready doctor --no-color >&2 || die "the machine is not ready for GPU work: the report above says why and what to do"
  elif command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap --format=csv,noheader >&2 ||
      die "nvidia-smi does not reach the driver: reboot after installing it, or see \`gpuready doctor\`"
  else
    die "neither gpuready nor nvidia-smi is here: install NVIDIA's driver (Ubuntu: ubuntu-drivers install)"
  fi
fi

if [ -z "$check" ]; then
  for tool in "$python" git; do
    command -v "$tool" >/dev/null || missing+="$tool "
  done
  "$python" -c 'import venv, ensurepip' 2>/dev/null || missing+="$(basename "$python")-venv "
  if [ -n "${missing:-}" ]; then
    command -v apt-get >/dev/null || die "these are missing: $missing"
    as_root=; [ "$(id -u)" = 0 ] || as_root=sudo
    $as_root apt-get update -q >&2
    # shellcheck disable=SC2086
    $as_root apt-get install -yq --no-install-recommends $missing >&2
  fi
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
  pins "$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  # shellcheck disable=SC2046,SC2086
  "$venv/bin/pip" install -q --disable-pip-version-check $([ "$device" = cuda ] && echo $wheels_cuda || echo $wheels_cpu) >&2
fi
[ -x "$venv/bin/python" ] || die "$venv has no Python: run this without --check first"

DEVICE=$device "$venv/bin/python" - <<'END' | tee "$venv/bench-setup.txt" || die "a stack does not compute on $device: the lines above say which"
import os, sys
device, bad = os.environ["DEVICE"], 0

def stack(name, try_it):
    global bad
    try:
        print(f"ok    {name}: {try_it()}")
    except Exception as error:
        bad += 1
        print(f"FAIL  {name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")

def torch():
    import torch
    if device == "cuda" and not torch.cuda.is_available():
        raise RuntimeError(f"PyTorch {torch.__version__} has CUDA {torch.version.cuda} and sees no GPU")
    a = torch.ones(256, 256, device=device)
    assert (a @ a)[0, 0].item() == 256
    if device == "cpu":
        return f"{torch.__version__}, {torch.get_num_threads()} threads"
    return f"{torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name(0)}"

def jax():
    import jax, jax.numpy as jnp
    found = jax.devices("gpu" if device == "cuda" else "cpu")
    a = jax.device_put(jnp.ones((256, 256)), found[0])
    assert float((a @ a)[0, 0]) == 256
    return f"{jax.__version__}, {found[0].device_kind}"

def onnxruntime():
    import onnxruntime as ort
    wanted = "CUDAExecutionProvider" if device == "cuda" else "CPUExecutionProvider"
    if wanted not in ort.get_available_providers():
        raise RuntimeError(f"{ort.__version__} has no {wanted}")
    return f"{ort.__version__}, {wanted}"

stack("PyTorch", torch)
stack("JAX", jax)
stack("ONNX Runtime", onnxruntime)
print("python", sys.version.split()[0])
sys.exit(bad > 0)
END
say "ready: source $venv/bin/activate, then gpuready bench run"
