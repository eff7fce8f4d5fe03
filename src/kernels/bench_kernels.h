// Kernels of the benchmarks' native stacks, for CUDA, and in FP32 for Vulkan.
#pragma once

#include "device/kernel.h"
#include "kernel_abi/bench_params.h"

namespace gpuready {

extern const Kernel kBenchGemm;  // BenchGemmParams; a block of kBenchGemmThreads a 64 x 64 tile
extern const Kernel
    kBenchGelu;  // CUDA alone. BenchGeluParams; any number of blocks of kBenchThreads
extern const Kernel kBenchMean;  // BenchMeanParams; likewise
// BenchAttentionParams; a block of kBenchThreads takes kBenchAttentionRows rows
extern const Kernel kBenchAttention;

}  // namespace gpuready
