#!/usr/bin/env bash
# `gpuready pack inspect` against cuobjdump, on libraries of the Python registry. By hand: it downloads
# some GB, one package at a time, and deletes each when it was compared. Nothing of them is kept.
# Usage: real.sh GPUREADY [PACKAGE...]; figures go to standard output and, with those of each file, to
# build/pack-real/figures.tsv. The judge is NVIDIA's cuobjdump from its package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
gpuready=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- nvidia-cublas nvidia-cublas-cu12 nvidia-cufft-cu12 nvidia-cusparse-cu12 \
  nvidia-cusolver-cu12 nvidia-curand-cu12 nvidia-npp-cu12 nvidia-nvjpeg-cu12 nvidia-nccl-cu12 \
  nvidia-cudnn-cu12 nvidia-cusparselt-cu12 nvidia-nvshmem-cu12 nvidia-cuda-cupti-cu12 cutensor-cu12 \
  cupy-cuda12x onnxruntime-gpu triton torch bitsandbytes ctranslate2 cupy-cuda13x faiss-gpu-cu12 jax-cuda12-plugin \
  nvidia-cudnn-cu13 nvidia-nvimgcodec-cu12 sgl-kernel vllm xgboost
work=build/pack-real
mkdir -p "$work"
python3 -m venv "$work/venv"
pip() { "$work/venv/bin/pip" --disable-pip-version-check -q "$@"; }
judge=$work/judge/nvidia/cu13/bin/cuobjdump
if [ ! -x "$judge" ]; then
  pip download --no-deps -d "$work" nvidia-cuda-cuobjdump
  python3 -m zipfile -e "$work"/nvidia_cuda_cuobjdump-*.whl "$work/judge"
  chmod +x "$judge"
fi
: >"$work/figures.tsv"
for package; do
  rm -rf "$work/wheel" "$work/files"
  timeout 900 "$work/venv/bin/pip" download -q --no-deps -d "$work/wheel" "$package" || { echo "$package: not to be had"; continue; }
  python3 -m zipfile -e "$work"/wheel/*.whl "$work/files"
  python3 tests/pack/wheel.py "$gpuready" "$work"/wheel/*.whl "$work/files"
  python3 tests/pack/compare.py "$gpuready" "$judge" "$package" "$work/files" "$work/figures.tsv"
  rm -rf "$work/wheel" "$work/files"
done
python3 tests/pack/compare.py --sum "$work/figures.tsv"
