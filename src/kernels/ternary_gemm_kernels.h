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
// For scales by group, by features, tokens, and groups that begin in a step of 128 columns.
extern const Kernel kGemmWgmma128x128x4, kGemmWgmma128x128x2, kGemmWgmma128x128x1,
    kGemmWgmma256x32x4, kGemmWgmma256x32x2, kGemmWgmma256x32x1;

}  // namespace gpuready::ternary
