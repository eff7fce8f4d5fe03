// The kernels of the memory test, for every executor. Their parameters are in memory_params.h.
#pragma once

#include "device/kernel.h"
#include "kernel_abi/memory_params.h"

namespace gpuready {

extern const Kernel kMemoryWrite;   // MemoryPassParams: writes the pattern
extern const Kernel kMemoryVerify;  // MemoryPassParams: reads it back into MemoryPassResults
extern const Kernel kMemoryInvert;  // MemoryPassParams: reads the address pattern back, and writes
                                    // its complement in place
extern const Kernel kMemoryCopy;    // MemoryCopyParams: block moves; a yardstick of the copy rate
extern const Kernel kMemoryHammer;  // MemoryHammerParams: repeated access

inline constexpr unsigned kMemoryKernelThreads = 256;  // threads a block, as compiled

// The work of a block, for which the grid is made; kernels do all of it whatever the grid. Measured
// by benchmarks/memory_variants.cc: the fewest tiles, but several where a block ends by adding up.
struct MemoryBlockWork {
  unsigned long long tile_bytes;  // as compiled
  unsigned tiles;
  unsigned long long bytes() const { return tile_bytes * tiles; }
};
inline constexpr MemoryBlockWork kMemoryWriteWork{kMemoryKernelThreads * 4 * 16, 1};
inline constexpr MemoryBlockWork kMemoryVerifyWork{kMemoryKernelThreads * 4 * 16, 4};
inline constexpr MemoryBlockWork kMemoryInvertWork{kMemoryKernelThreads * 8 * 16, 1};
inline constexpr MemoryBlockWork kMemoryCopyWork{kMemoryKernelThreads * 16, 2};

}  // namespace gpuready
