#!/usr/bin/env bash
# The adapters for real, on the CPU: every workload of each stack that is here must be the same work.
#   tests/bench/stacks.sh GPUREADY FOLDER [--install]
# PyTorch comes from Debian's python3-torch, where /usr/bin/python3 has it. JAX, ONNX Runtime and TVM come from
# FOLDER/venv, which --install makes from the Python registry, pinned (less than 1 GB). Exit 77: no stack is here.
set -euo pipefail
gpuready=$(realpath "$1") adapters=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../adapters")
mkdir -p "$2"; cd "$2"
if [ "${3:-}" = --install ] && [ ! -e venv/ready ]; then
  rm -rf venv
  /usr/bin/python3 -m venv venv 2>/dev/null || python3 -m venv venv
  venv/bin/pip install -q --no-compile numpy==2.4.6 jax==0.10.2 jaxlib==0.10.2 onnx==1.23.2 \
    onnxruntime==1.31.1 apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.15.post2
  touch venv/ready
fi
export OMP_NUM_THREADS=2
names=()
if /usr/bin/python3 -c 'import torch, numpy' 2>/dev/null; then
  export TORCH_EAGER_BENCH_CMD="/usr/bin/python3 $adapters/torch_eager.py"
  names+=(torch_eager)
fi
for pair in xla:jax:xla onnxruntime:onnxruntime:onnxruntime_stack tvm:tvm:tvm_stack; do
  IFS=: read -r id module script <<<"$pair"
  [ -x venv/bin/python ] && venv/bin/python -c "import numpy, $module" 2>/dev/null || continue
  variable=$(tr a-z A-Z <<<"$id")_BENCH_CMD
  export "$variable=$PWD/venv/bin/python $adapters/$script.py"
  names+=("$id")
done
[ ${#names[@]} -gt 0 ] || { echo "no stack is here: apt-get install python3-torch, or --install"; exit 77; }
failed=0
for work in "mlp --batch 16 --hidden 128" "gemm --m 33 --n 65 --k 129" "attention --batch 2 --hidden 128 --m 40" \
  "copy --m 64 --n 100" "ternary --m 5 --n 64 --k 256"; do
  # shellcheck disable=SC2086
  "$gpuready" bench run --task $work --device cpu --repeats 1 --iters 5 --warmup 2 --max-seconds 0.3 --silence 300s \
    --tag "${work%% *}" --replace --json=run.json --stack "gpuready,$(IFS=,; echo "${names[*]}")" >report.txt || true
  python3 - "$work" <<'END' || failed=1
import json, sys
run = json.load(open("run.json"))["run"]
bad = 0
for stack in run["stacks"]:
    # ONNX has no copy that copies, nor TVM's adapter.
    allowed = stack["status"] == "ok" or (run["workload"]["name"] == "copy" and stack["status"] == "unavailable")
    bad += not allowed
    print(f"{'ok  ' if allowed else 'FAIL'} {sys.argv[1].split()[0]:10} {stack['id']:12} {stack['status']} {stack.get('reason', '')}")
sys.exit(bad > 0)
END
done
exit $failed
