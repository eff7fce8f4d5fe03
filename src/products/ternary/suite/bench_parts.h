// What the parts of `gpuready ternary bench` on GPUs share.
#pragma once

#include "ternary/suite/bench.h"

namespace gpuready::ternary {

struct Samples {
  double least_us = 0, median_us = 0;
  std::uint64_t count = 0;
};

// Drawn alike each time.
struct Operands {
  Codes codes;
  std::vector<std::int8_t> y;
};
Operands operands(const BenchShape& shape);

void take(BenchRow& row, const Samples& samples);

}  // namespace gpuready::ternary
