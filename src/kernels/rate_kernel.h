// The kernel that measures how much an SM does in a clock cycle. Its parameters are in
// rate_params.h.
#pragma once

#include "device/kernel.h"
#include "kernel_abi/rate_params.h"

namespace gpuready {

extern const Kernel kRate;  // RateParams; kRateThreads threads a block; CUDA alone

}  // namespace gpuready
