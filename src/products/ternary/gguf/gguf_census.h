// Counts of codes and the range of scales, without decoding: a file of gigabytes is counted as it
// is read.
#pragma once

#include <array>
#include <cstdint>

#include "ternary/gguf/gguf_identify.h"

namespace gpuready::ternary::gguf {

struct Census {
  std::uint64_t minus = 0, zero = 0, plus = 0;
  std::uint64_t undefined = 0;  // codes that the format does not define
  std::uint64_t unwritten = 0;  // bytes of defined codes that no encoder writes
  std::uint64_t scales = 0;
  float scale_least = 0, scale_greatest = 0;  // of the finite ones
  std::uint64_t scales_not_finite = 0;
};

// How often each value of two bits is in the bytes: the same for every order of the weights.
std::array<std::uint64_t, 4> count_two_bit(Bytes bytes);

Result<Census> count(const Loaded& tensor);

}  // namespace gpuready::ternary::gguf
