// One 1024^3 FP32 product within a time limit, with every element of the result checked.
#pragma once

#include "health/test.h"

namespace gpuready {

// Inputs are small integers, so that the exact answer is representable; the result C is checked by
// C x = A (B x) in 64-bit integers for random x (Freivalds, 1977), which misses a wrong element
// with a probability below 2^-20. The product alone, after one warm-up, must take no longer than
// options.limit_ms.
Verdict benchmark_matmul(Device& device, const TestOptions& options, const TestHooks& hooks = {});

}  // namespace gpuready
