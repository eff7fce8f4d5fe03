// Values as a dtype stores them, and back. Inputs are exact in all of them.
#pragma once

#include <span>
#include <vector>

#include "bench/run/request.h"

namespace gpuready::bench {

std::vector<unsigned char> narrowed(std::span<const float> values, Dtype dtype);
std::vector<float> widened(std::span<const unsigned char> bytes, Dtype dtype);

}  // namespace gpuready::bench
