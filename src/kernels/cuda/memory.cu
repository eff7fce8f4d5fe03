// The shipped kernels of the memory test. benchmarks/memory_variants.cc measures them against
// others.
#include "kernels/cuda/memory_fault_device.cuh"
#include "kernels/cuda/memory_hammer.cuh"

using namespace gpuready;
using namespace gpuready::device;

GPUREADY_KERNEL(256, 4) void gpuready_memory_write(MemoryPassParams params) {
  before_write<Tiling<256, 4>>(params);
  with_pattern(params.pattern, [&](auto pattern) __attribute__((always_inline)) {
    write_pattern<256, 4, Hint::none, decltype(pattern)>(params);
  });
  after_write<Tiling<256, 4>>(params);
}

GPUREADY_KERNEL(256, 4) void gpuready_memory_verify(MemoryPassParams params) {
  with_pattern(params.pattern, [&](auto pattern) __attribute__((always_inline)) {
    verify_pattern<256, 4, Hint::none, decltype(pattern), false>(params);
  });
}

// Moving inversions: verifies the address pattern and writes its complement in place. That pattern
// alone: the registers that others would take cost a tenth of the rate.
#if defined(__AMDGCN__)
constexpr unsigned kInvertUnroll = 4;  // more would spill
#else
constexpr unsigned kInvertUnroll = 8;
#endif
GPUREADY_KERNEL(256, 2) void gpuready_memory_invert(MemoryPassParams params) {
  before_write<Tiling<256, kInvertUnroll>>(params);
  verify_pattern<256, kInvertUnroll, Hint::none, AddressPattern, true>(params);
  params.invert = ~params.invert;
  params.pattern = kPatternAddress;
  after_write<Tiling<256, kInvertUnroll>>(params);
}

GPUREADY_KERNEL(256, 4) void gpuready_memory_copy(MemoryCopyParams params) {
  copy_memory<256, 1, Hint::none>(params);
}

GPUREADY_KERNEL(256, 4) void gpuready_memory_hammer(MemoryHammerParams params) {
  hammer_memory(params);
}
