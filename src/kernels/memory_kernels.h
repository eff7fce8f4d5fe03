// The kernels of the memory test, for every executor. Their parameters are in memory_params.h.
#pragma once

#include "device/kernel.h"
#include "kernels/memory_params.h"

namespace gpuready {

extern const Kernel kMemoryWrite;   // MemoryPassParams: writes the pattern
extern const Kernel kMemoryVerify;  // MemoryPassParams: reads it back into MemoryPassResults
extern const Kernel kMemoryCopy;    // MemoryCopyParams: the yardstick of the copy rate

inline constexpr unsigned kMemoryKernelThreads = 256;  // threads a block, as compiled

}  // namespace gpuready
