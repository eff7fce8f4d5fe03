// The FP32 product of the fitness benchmark, for every executor.
#pragma once

#include "device/kernel.h"
#include "kernel_abi/matmul_params.h"

namespace gpuready {

extern const Kernel kMatmulF32;  // MatmulParams; (n / 64)^2 blocks of kMatmulThreads
inline constexpr unsigned kMatmulThreads = 256, kMatmulTile = 64;

}  // namespace gpuready
