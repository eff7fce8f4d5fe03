// Parts that a compiler vectorises by itself, compiled anew by each tier for its own instructions.
// Everything is in an unnamed namespace for that reason.
#pragma once

#include "ternary/kernels.h"

namespace gpuready::ternary::kernels {
namespace {

void finish_rows(const FinishArgs& a) {
  for (size_t m = 0; m < a.rows; ++m) {
    const int32_t* sums = a.sums + m * a.stride;
    const int32_t y_sum = a.y_sums != nullptr ? a.y_sums[m] : 0;
    if (a.type == kInt32) {
      int32_t* out = static_cast<int32_t*>(a.out) + m * a.out_stride;
      for (size_t n = 0; n < a.cols; ++n) out[n] = sums[n] - y_sum;
      continue;
    }
    const float step = a.steps[m];
    if (a.type == kFloat32) {
      float* out = static_cast<float*>(a.out) + m * a.out_stride;
      for (size_t n = 0; n < a.cols; ++n) {
        const float scale = step * a.scales[n];
        out[n] = static_cast<float>(sums[n] - y_sum) * scale;
      }
      continue;
    }
    uint16_t* out = static_cast<uint16_t*>(a.out) + m * a.out_stride;
    for (size_t n = 0; n < a.cols; ++n) {
      const float scale = step * a.scales[n];
      const float value = static_cast<float>(sums[n] - y_sum) * scale;
      uint32_t bits;
      __builtin_memcpy(&bits, &value, 4);
      // Nearest even. Sums and scales are finite, so the only special case is a product that
      // overflowed to infinity, which rounds to itself.
      bits += 0x7FFF + (bits >> 16 & 1);
      out[n] = static_cast<uint16_t>(bits >> 16);
    }
  }
}

int32_t quantise_row(const float* x, size_t count, float limit, int8_t* out) {
  const float scale = 127.0f / limit;
  // Adding 1.5 * 2^23 rounds to an integer, half to even, and leaves it in the low bits.
  const float magic = 12582912.0f;
  int32_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const float shifted = x[i] * scale + magic;
    int32_t bits;
    __builtin_memcpy(&bits, &shifted, 4);
    int32_t q = bits - 0x4B400000;
    q = q > 127 ? 127 : q < -128 ? -128 : q;
    out[i] = static_cast<int8_t>(q);
    sum += q;
  }
  return sum;
}

}  // namespace
}  // namespace gpuready::ternary::kernels
