// The memory kernels on the CPU. They do what the GPU's do, on host memory, and see to it that
// memory and not a cache is tested: stores bypass the caches and the lines are flushed after
// writing.
#pragma once

#include "device/kernel.h"
#include "kernel_abi/memory_params.h"

namespace gpuready {

void cpu_memory_write(const void* params, CpuSlice slice);
void cpu_memory_verify(const void* params, CpuSlice slice);
void cpu_memory_invert(const void* params, CpuSlice slice);
void cpu_memory_copy(const void* params, CpuSlice slice);
void cpu_memory_hammer(const void* params, CpuSlice slice);

namespace cpu {

// What a verify of some words found: both sums count good and bad words alike.
struct VerifySums {
  unsigned long long name_sum = 0;
  bool all_good = true;
};

// One tier of the inner loops, which are those of the address pattern: the others' are the same for
// all. `position` is that of words[0]; the count is even.
struct MemoryTier {
  const char* name;
  void (*write)(unsigned long long* words, unsigned long long count, unsigned long long position,
                unsigned long long invert);
  VerifySums (*verify)(const unsigned long long* words, unsigned long long count,
                       unsigned long long position, unsigned long long invert);
  // Writes the cache lines of these bytes back to memory and drops them.
  void (*flush)(const void* start, unsigned long long bytes);
};

extern const MemoryTier kMemoryScalar;
#if defined(__x86_64__)
extern const MemoryTier kMemoryAvx2;  // needs AVX2 and CLFLUSHOPT
#endif
const MemoryTier& memory_tier();  // the best that this CPU has

}  // namespace cpu
}  // namespace gpuready
