// One 1024^3 FP32 product within a time limit, with every element of the result checked.
#pragma once

#include "device/device.h"
#include "gpuready/verdict.h"

namespace gpuready {

struct MatmulBenchmarkOptions {
  unsigned n = 1024;       // a multiple of 64
  double limit_ms = 2000;  // for the product alone, after one warm-up
  std::string limit_source = "default";
};

// Inputs are small integers, so that the exact answer is representable; the result C is checked by
// C x = A (B x) in 64-bit integers for random x (Freivalds, 1977), which misses a wrong element
// with a probability below 2^-20.
Verdict benchmark_matmul(Device& device, const MatmulBenchmarkOptions& options);

}  // namespace gpuready
