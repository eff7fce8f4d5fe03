// The kernels of ternary matrix products, and what they do as CPU functions.
#pragma once

#include "device/kernel.h"
#include "kernel_abi/ternary_gemm_params.h"

namespace gpuready::ternary {

extern const Kernel kGemmTiles;  // GemmTilesParams, warps_a_row warps a row
extern const Kernel kGemmMma;    // GemmParams, a block a tile
// By features and tokens of a tile, with the kernel that adds up the parts of split tiles.
extern const Kernel kGemmWgmma256x128, kGemmWgmma128x128, kGemmWgmma128x96, kGemmWgmma256x64,
    kGemmWgmma256x32;
extern const Kernel kGemmFinish256x128, kGemmFinish128x128, kGemmFinish128x96, kGemmFinish256x64,
    kGemmFinish256x32;

}  // namespace gpuready::ternary
