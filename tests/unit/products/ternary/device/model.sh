#!/usr/bin/env bash
# A model in the shape of real ones, written by gguf-py, goes through: inspect, verify, and a forward pass of its linear
# layers through the C interface, on each CPU tier and on a GPU that executes the kernels that ship.
# Usage: model.sh WORK_FOLDER GPUREADY LIBGPUREADY FAKE_CUDA; exit 77 where gguf-py cannot be had.
set -euo pipefail
mkdir -p "$1"
work=$(realpath "$1") program=$(realpath "$2") library=$(realpath "$3") driver=$(realpath "$4")
cd "$(dirname "${BASH_SOURCE[0]}")"
if ! "$work/venv/bin/python" -c 'import gguf' 2>/dev/null; then
  python3 -m venv "$work/venv" && timeout 120 "$work/venv/bin/pip" install -q --disable-pip-version-check gguf==0.19.0 ||
    { echo "not tested: the Python package gguf cannot be installed here"; exit 77; }
fi
python=$work/venv/bin/python
"$python" model.py write "$work/model.gguf"
"$program" ternary inspect "$work/model.gguf" >"$work/inspect.txt"
"$program" ternary verify --device cpu "$work/model.gguf"
"$python" model.py forward "$work/model.gguf" "$library" cpu
for capability in 6.1 8.0; do
  export GPUREADY_LIBCUDA=$driver FAKE_CUDA="cc=$capability,memory=512MiB,guard=4KiB"
  "$program" ternary verify --device cuda:0 "$work/model.gguf"
  "$python" model.py forward "$work/model.gguf" "$library" cuda
done
