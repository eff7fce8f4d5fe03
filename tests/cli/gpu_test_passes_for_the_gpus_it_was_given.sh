. "$LIB"
[ ! -e /proc/driver/nvidia ] || skip "this machine has a GPU"
export GPUREADY_LIBNVML=$FAKES/fake_nvml.so GPUREADY_LIBCUDA=$FAKES/fake_cuda.so
export FAKE_NVML="devices=2" FAKE_CUDA="devices=2"
export RUNPOD_GPU_TEST_TIMEOUT=200  # sanitizers and a busy machine are slow
# No kernel but the memory test's is in this driver.
expect_exit 1 "$GPUREADY" gpu-test
expect_in "Found 2 GPUs:" "$out"
for gpu in 0 1; do
  expect_in "GPU $gpu memory allocation test failed. Error code: 500 (CUDA_ERROR_NOT_FOUND" "$out"
done
# The second of three is lost: it keeps its number, and NVML's code is given.
FAKE_NVML="devices=3;nvmlDeviceGetHandleByIndex_v2@1=15" FAKE_CUDA="devices=3" \
  expect_exit 1 "$GPUREADY" gpu-test
expect_in "Found 3 GPUs:" "$out"
expect_in "Failed to get handle for GPU 1: NVML_ERROR_GPU_IS_LOST: the GPU has fallen off the bus (Error code: 15)" "$out"
expect_in "GPU 2: NVIDIA H200" "$out"
# CUDA's own number and name.
FAKE_CUDA="devices=2,fail=cuDevicePrimaryCtxRetain:2" expect_exit 1 "$GPUREADY" gpu-test
expect_in "GPU 0 memory allocation test failed. Error code: 2 (CUDA_ERROR_OUT_OF_MEMORY" "$out"
# A GPU that lacks nothing.
ready_gpu
expect_exit 0 "$GPUREADY" gpu-test
expect_in "GPU 0 memory allocation test passed." "$out"
expect_not_in "note" "$out"
GPUREADY_TRUST_NAMED_LIBRARIES='' expect_exit 1 "$GPUREADY" gpu-test
expect_in "failed. Error code: 999 (it passed through GPUREADY_LIBCUDA=$GPUREADY_LIBCUDA" "$out"
