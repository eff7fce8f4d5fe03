#!/usr/bin/env bash
# The Python package, as the wheel has it, with numpy and, if it is installed, torch.
# Usage: ternary_python.sh SOURCE LIBRARY GPUREADY FAKE_CUDA; exit 77 without numpy.
set -euo pipefail
source=$(realpath "$1") library=$(realpath "$2") program=$(realpath "$3") driver=$(realpath "$4")
# The system's Python has the packages that scripts/setup.sh installs.
for python in python3 /usr/bin/python3 none; do
  ! "$python" -c 'import numpy' 2>/dev/null || break
done
[ "$python" != none ] || { echo "not tested: no Python here has numpy (scripts/setup.sh --full installs it)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" "$source/packaging/python_package.py" "$folder"
export PYTHONPATH=$folder PYTHONDONTWRITEBYTECODE=1 GPUREADY_TERNARY_LIBRARY=$library GPUREADY_HELPER=$program
export GGUF=$source/tests/cli/gguf.py EXAMPLE=$source/examples/ternary.py
if [ -e "$driver" ]; then export DRIVER=$driver GPUREADY_LIBCUDA=$driver FAKE_CUDA="cc=8.0,memory=64MiB,guard=4KiB"; fi
"$python" "$source/tests/package/ternary_python.py"
