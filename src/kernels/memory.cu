// The shipped kernels of the memory test. benchmarks/memory_variants.cc measures them against
// others.
#include "kernels/memory_device.cuh"

using namespace gpuready;
using namespace gpuready::device;

GPUREADY_KERNEL(256, 4) void gpuready_memory_write(MemoryPassParams params) {
  write_pattern<256, 4, Hint::none>(params);
}

GPUREADY_KERNEL(256, 4) void gpuready_memory_verify(MemoryPassParams params) {
  verify_pattern<256, 4, Hint::none>(params);
}

GPUREADY_KERNEL(256, 4) void gpuready_memory_copy(MemoryCopyParams params) {
  copy_memory<256, 4, Hint::none>(params);
}
