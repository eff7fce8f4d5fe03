// f16 and bf16 as bits; conversions round to nearest even, as IEEE 754 has it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include "gpuready/ternary.h"

namespace gpuready::ternary {

inline float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31;
  const std::uint32_t fraction = bits & 0x3FFu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // subnormal: exact
  return sign != 0 ? -magnitude : magnitude;
}

inline std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u);
  if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);  // >= 65520
  if (magnitude < 0x38800000u) {  // below 2^-14: in units of 2^-24, rounded by the f32 addition
    const float units = std::bit_cast<float>(magnitude) * 0x1p24f + 0x1p23f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(units) & 0x7FFu));
  }
  const std::uint32_t rounded = magnitude + 0xFFFu + (magnitude >> 13 & 1u);
  return static_cast<std::uint16_t>(sign | (rounded - 0x38000000u) >> 13);
}

inline float bf16_to_f32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::size_t bytes_of(FloatType type) { return type == FloatType::f32 ? 4 : 2; }

// Elements [first, first + count) as f32.
inline void read_floats(const FloatView& view, std::size_t first, std::size_t count, float* out) {
  const std::byte* at = view.bytes.data() + first * bytes_of(view.type);
  if (view.type == FloatType::f32) {
    std::memcpy(out, at, count * 4);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, at + 2 * i, 2);
    out[i] = view.type == FloatType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
  }
}

// For messages: six digits.
inline std::string to_text(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", static_cast<double>(value));
  return text;
}

}  // namespace gpuready::ternary
