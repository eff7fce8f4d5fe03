. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
export GPUREADY_LIBNVML=$FAKES/fake_nvml.so GPUREADY_LIBCUDA=$FAKES/fake_cuda.so
export RUNPOD_GPU_TEST_TIMEOUT=6
within() { # SECONDS TEXT: gpu-test fails with that text, in time
  local began=$EPOCHREALTIME
  expect_exit 1 "$GPUREADY" gpu-test
  expect_in "$2" "$out"
  awk -v b="$began" -v e="$EPOCHREALTIME" -v most="$1" 'BEGIN { exit !(e - b <= most) }' || die "took longer than $1 s"
}
FAKE_NVML="hang=nvmlInit_v2" within 6 "Failed to initialize NVML: timed_out in nvmlInit_v2()"
FAKE_CUDA="hang=cuInit" within 6 "GPU 0 memory allocation test failed. Error code: 999 (asking the CUDA driver ended as timed_out)"
FAKE_CUDA="hang=cuMemAlloc_v2" within 6 "GPU 0 memory allocation test failed. Error code: 999"
RUNPOD_GPU_TEST_TIMEOUT=soon expect_exit 2 "$GPUREADY" gpu-test
expect_in "RUNPOD_GPU_TEST_TIMEOUT=soon: not a number of seconds" "$err"
