// Other shapes of the memory kernels, for benchmarks/memory_variants.cc: cache hint and accesses in
// flight. Names: <what>_<threads>_<16-byte accesses in flight>[_cs].
#include "kernels/cuda/memory_device.cuh"

using namespace gpuready;
using namespace gpuready::device;

#define VARIANT(threads, blocks, unroll, suffix, hint)                                            \
  GPUREADY_KERNEL(threads, blocks) void write_##threads##_##unroll##suffix(MemoryPassParams p) {  \
    write_pattern<threads, unroll, Hint::hint, AddressPattern>(p);                                \
  }                                                                                               \
  GPUREADY_KERNEL(threads, blocks) void verify_##threads##_##unroll##suffix(MemoryPassParams p) { \
    verify_pattern<threads, unroll, Hint::hint, AddressPattern, false>(p);                        \
  }                                                                                               \
  GPUREADY_KERNEL(threads, blocks) void invert_##threads##_##unroll##suffix(MemoryPassParams p) { \
    verify_pattern<threads, unroll, Hint::hint, AddressPattern, true>(p);                         \
  }                                                                                               \
  GPUREADY_KERNEL(threads, blocks) void copy_##threads##_##unroll##suffix(MemoryCopyParams p) {   \
    copy_memory<threads, unroll, Hint::hint>(p);                                                  \
  }

VARIANT(256, 6, 1, , none)
VARIANT(256, 5, 2, , none)
VARIANT(256, 4, 4, , none)
VARIANT(256, 2, 8, , none)
VARIANT(512, 2, 1, , none)
VARIANT(512, 2, 2, , none)
VARIANT(512, 2, 4, , none)
VARIANT(1024, 1, 1, , none)
VARIANT(1024, 1, 2, , none)
VARIANT(1024, 1, 4, , none)
VARIANT(256, 4, 4, _cs, streaming)
