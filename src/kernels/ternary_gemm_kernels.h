// The kernels of ternary matrix products, and what they do as CPU functions.
#pragma once

#include "device/kernel.h"
#include "kernels/ternary_gemm_params.h"

namespace gpuready::ternary {

extern const Kernel kGemmTiles;                                    // GemmTilesParams, a block a row
extern const Kernel kGemmMma;                                      // GemmParams, a block a tile
extern const Kernel kGemmWgmma32, kGemmWgmma64, kGemmWgmma128;     // by tokens of a tile
extern const Kernel kGemmFinish32, kGemmFinish64, kGemmFinish128;  // GemmParams, finish_blocks()

}  // namespace gpuready::ternary
