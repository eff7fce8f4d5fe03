#!/usr/bin/env bash
# runpod-python's own check of a worker's GPUs, as PyPI ships it, with gpuready in place of its gpu_test:
#   tests/gpu_test_runpod.sh [GPUREADY] [FAKES]
# GPUREADY is a built binary (default build/release/src/gpuready). Where there is no NVIDIA GPU, or FAKES is
# given, the drivers are the fake ones of that folder (default build/release/fake_drivers). Fetches the package
# runpod into a virtual environment, without what it depends on: the check imports four of its files. What it
# falls back to, nvidia-smi, is hidden, so that only gpu_test can make it pass.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
binary=$(realpath "${1:-build/release/src/gpuready}")
fakes=${2:-}
[ -n "$fakes" ] || [ -e /proc/driver/nvidia ] || fakes=build/release/fake_drivers
unset GPUREADY_FAKE BITNET_GPU_FAKE GPUREADY_HELPER RUNPOD_BINARY_GPU_TEST_PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "${RUNPOD:-runpod}"
package=$("$work/venv/bin/python" -c 'import importlib.util as u; print(u.find_spec("runpod").submodule_search_locations[0])')
install -m 755 "$binary" "$package/serverless/binaries/gpu_test"
mkdir "$work/bin"
cat >"$work/check.py" <<'PY'
import asyncio, importlib, sys, types

# Packages without their __init__, which imports what is not installed; every module is the shipped one.
for name in ("runpod", "runpod.serverless", "runpod.serverless.modules"):
    module = types.ModuleType(name)
    module.__path__ = [sys.argv[1] + name.removeprefix("runpod").replace(".", "/")]
    sys.modules[name] = module
fitness = importlib.import_module("runpod.serverless.modules.rp_gpu_fitness")
try:
    asyncio.run(fitness._check_gpu_health())
except RuntimeError as error:
    sys.exit(f"the worker is unhealthy: {error}")
result = asyncio.run(fitness._run_gpu_test_binary())
assert result["success"] and result["gpu_count"] == result["found_gpus"] > 0 and not result["errors"], result
print(f"{result['gpu_count']} of {result['found_gpus']} GPUs passed, CUDA {result['details']['cuda_version']}")
PY
check() { env PATH="$work/bin" "$@" "$work/venv/bin/python" "$work/check.py" "$package"; }
version=$("$work/venv/bin/python" -c 'import importlib.metadata as m; print(m.version("runpod"))')
if [ -z "$fakes" ]; then
  told=$(check)
else
  fakes=$(realpath "$fakes")
  drivers=(GPUREADY_TRUST_NAMED_LIBRARIES=1 GPUREADY_LIBNVML="$fakes/fake_nvml.so" GPUREADY_LIBCUDA="$fakes/fake_cuda.so" FAKE_NVML=devices=2)
  told=$(check "${drivers[@]}" FAKE_CUDA=devices=2)
  # Its judgement is ours: a GPU without memory fails the worker, with the reason.
  if said=$(check "${drivers[@]}" FAKE_CUDA=devices=2,fail=cuDevicePrimaryCtxRetain:2 2>&1); then
    echo "gpu_test_runpod: a GPU without memory passed: $said" >&2; exit 1
  fi
  case $said in *"GPU 0 memory allocation test failed. Error code: 2"*) ;; *)
    echo "gpu_test_runpod: another reason: $said" >&2; exit 1 ;;
  esac
fi
echo "runpod $version with ${fakes:+fake drivers and }gpuready as gpu_test: $(tail -n 1 <<<"$told")"
