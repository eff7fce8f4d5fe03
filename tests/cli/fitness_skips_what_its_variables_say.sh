. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
# A worker without a GPU has no matrix product to be judged by.
expect_exit 0 env RUNPOD_GPU_BENCHMARK_TIMEOUT=0.001 RUNPOD_MIN_DISK_PERCENT=0.001 RUNPOD_MIN_MEMORY_GB=0.001 \
  "$GPUREADY" check --fitness --json -
expect_not_in '"benchmark"' "$out"
expect_in '"host-memory"' "$out"
expect_exit 0 env RUNPOD_SKIP_AUTO_SYSTEM_CHECKS=True RUNPOD_MIN_MEMORY_GB=1000000 "$GPUREADY" check --fitness --json -
expect_not_in '"host-memory"' "$out"
export GPUREADY_LIBNVML=$FAKES/fake_nvml.so GPUREADY_LIBCUDA=$FAKES/fake_cuda.so
# This GPU has findings (exit 1), but no test was run on it.
expect_exit 1 env RUNPOD_SKIP_GPU_CHECK=true RUNPOD_SKIP_AUTO_SYSTEM_CHECKS=true "$GPUREADY" check --fitness
expect_in "No GPU was tested" "$out"
expect_not_in "Tests of GPU 0" "$out"
# As runpod-python has it: the benchmark belongs to the automatic checks, not to the GPU check.
tests_run() { # VARIABLE=true: the tests that have a verdict
  env "$1" "$GPUREADY" check --fitness --json - | jq -r '[.verdicts[].test] | unique | join(" ")' || true
}
[ "$(tests_run RUNPOD_SKIP_GPU_CHECK=true)" = "benchmark cuda-version disk host-memory" ] ||
  die "with RUNPOD_SKIP_GPU_CHECK: $(tests_run RUNPOD_SKIP_GPU_CHECK=true)"
[ "$(tests_run RUNPOD_SKIP_AUTO_SYSTEM_CHECKS=true)" = "compute memory" ] ||
  die "with RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: $(tests_run RUNPOD_SKIP_AUTO_SYSTEM_CHECKS=true)"
# The caller skips gpu_test by not starting it; one that is started tests.
expect_exit 1 env RUNPOD_SKIP_GPU_CHECK=true "$GPUREADY" gpu-test
expect_in "cuModuleGetFunction" "$out"  # a worker's, since this driver has no kernel but the memory test's
