// The ternary kernels for vectors and a few rows, and those that quantise. Their parameters are in
// ternary_params.h.
#pragma once

#include "device/kernel.h"
#include "kernel_abi/ternary_params.h"

namespace gpuready::ternary {

// TernaryGemvParams, for 1, 2 and 4 activation rows at once, and by matrix instructions, from sm_80
// on, for up to 8 and 16. In Vulkan the first serves any number.
extern const Kernel kTernaryGemv1, kTernaryGemv2, kTernaryGemv4, kTernaryGemv8, kTernaryGemv16;
// TernaryStreamParams: the same for many weight rows, one block an SM. From sm_80 on.
extern const Kernel kTernaryStream1, kTernaryStream8, kTernaryStream16;
// From activations that are not quantised yet: no more rows than the kernel takes at once.
extern const Kernel kTernaryStreamValues1, kTernaryStreamValues8;
// TernaryGroupedParams: weights with scales by group, for 1, 4 and, from sm_80 on, 16 rows at once.
extern const Kernel kTernaryGrouped1, kTernaryGrouped4, kTernaryGrouped16;
extern const Kernel kTernaryActivations;  // TernaryActivationParams
// TernaryWeightsParams, in the order of the absmean rule. The second is one block.
extern const Kernel kTernarySums, kTernaryMean, kTernarySigns;
// Reads memory as fast as loads can be asked for: address, bytes and an address to write to, of 64
// bits each; blocks of 256 threads.
extern const Kernel kTernaryRead;

}  // namespace gpuready::ternary
