// Parts that a compiler vectorises by itself, compiled again by each tier for its own instructions.
// Everything is in an unnamed namespace for that reason.
#pragma once

#include "ternary/cpu/kernels.h"

namespace gpuready::ternary::kernels {
namespace {

// Nearest even. Values are finite or a product that overflowed to infinity, which rounds to itself.
inline uint16_t bfloat16(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  bits += 0x7FFF + (bits >> 16 & 1);
  return static_cast<uint16_t>(bits >> 16);
}

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
      out[n] = bfloat16(value);
    }
  }
}

// As bits, which order as magnitudes do: infinity and NaN are the greatest.
uint32_t greatest_magnitude(const float* x, size_t count) {
  uint32_t greatest = 0;
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, x + i, 4);
    bits &= 0x7FFFFFFF;
    greatest = bits > greatest ? bits : greatest;
  }
  return greatest;
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

void add_group_terms(const TermsArgs& a) {
  for (int panel = 0; panel < a.panels; ++panel) {
    const float* scales = a.scales[panel];
    for (size_t m = 0; m < a.rows; ++m) {
      const size_t at = m * 32 + static_cast<size_t>(panel * kPanelRows);
      const int32_t* sums = a.sums + at;
      float* values = a.values + at;
      const int32_t y_sum = a.y_sums[m];
      float before[kPanelRows], term[kPanelRows];
      for (int n = 0; n < kPanelRows; ++n) before[n] = a.first ? 0.0f : values[n];
      for (int n = 0; n < kPanelRows; ++n) {
        term[n] = static_cast<float>(sums[n] - y_sum) * scales[n];
      }
      for (int n = 0; n < kPanelRows; ++n) values[n] = before[n] + term[n];
    }
  }
}

void scale_values(const ScaleArgs& a) {
  for (size_t m = 0; m < a.rows; ++m) {
    const float* values = a.values + m * a.stride;
    const float step = a.steps[m];
    if (a.type == kFloat32) {
      float* out = static_cast<float*>(a.out) + m * a.out_stride;
      for (size_t n = 0; n < a.cols; ++n) out[n] = values[n] * (step * a.scales[n]);
    } else {
      uint16_t* out = static_cast<uint16_t*>(a.out) + m * a.out_stride;
      for (size_t n = 0; n < a.cols; ++n) out[n] = bfloat16(values[n] * (step * a.scales[n]));
    }
  }
}

inline uint32_t float_bits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}

// Nearest even, without a branch.
inline uint16_t float16(float value) {
  const uint32_t bits = float_bits(value);
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  // Below 2^-14, the least normal number: in units of 2^-24, rounded by the addition.
  float least;
  const uint32_t least_bits = magnitude < 0x38800000u ? magnitude : 0;
  __builtin_memcpy(&least, &least_bits, 4);
  const uint32_t units = float_bits(least * 0x1p24f + 0x1p23f) & 0x7FFu;
  const uint32_t normal = (magnitude + 0xFFFu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
  uint32_t half = magnitude < 0x38800000u ? units : normal;
  half = magnitude >= 0x477FF000u ? 0x7C00u : half;  // 65520 and more
  return static_cast<uint16_t>(sign | half);
}

void store_values(const StoreArgs& a) {
  // Few at a time, so that each step is a loop that vectorises.
  constexpr size_t kAtOnce = 64;
  for (size_t first = 0; first < a.count; first += kAtOnce) {
    const size_t count = a.count - first < kAtOnce ? a.count - first : kAtOnce;
    float values[kAtOnce];
    __builtin_memcpy(values, a.values + first, count * sizeof(float));
    if (a.bias != nullptr)
      for (size_t i = 0; i < count; ++i) values[i] += a.bias[first + i];
    if (a.residual != nullptr)
      for (size_t i = 0; i < count; ++i) values[i] += a.residual[first + i];
    // The payload of a NaN differs from CPU to CPU, so every NaN becomes the one that GPUs make.
    if (a.type == kFloat32) {
      uint32_t bits[kAtOnce];
      for (size_t i = 0; i < count; ++i)
        bits[i] = values[i] != values[i] ? 0x7FFFFFFFu : float_bits(values[i]);
      __builtin_memcpy(static_cast<float*>(a.out) + first, bits, count * sizeof(float));
      continue;
    }
    uint16_t* out = static_cast<uint16_t*>(a.out) + first;
    if (a.type == kBfloat16) {
      for (size_t i = 0; i < count; ++i)
        out[i] = values[i] != values[i] ? uint16_t{0x7FFF} : bfloat16(values[i]);
    } else {
      for (size_t i = 0; i < count; ++i)
        out[i] = values[i] != values[i] ? uint16_t{0x7FFF} : float16(values[i]);
    }
  }
}

int32_t sum_codes(const int8_t* y, size_t count) {
  int32_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += y[i];
  return sum;
}

}  // namespace
}  // namespace gpuready::ternary::kernels
