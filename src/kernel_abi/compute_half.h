// fp16 arithmetic, exact in wide integers and then rounded once, to nearest even: the reference
// for the device's fp16 units. Every finite fp16 number is a whole multiple of 2^-24 below 2^41.
#pragma once

#include <cstdint>

#include "kernel_abi/compute_ops.h"

namespace gpuready {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

constexpr unsigned kHalfInfinity = 0x7C00;
constexpr bool half_is_nan(unsigned bits) { return (bits & 0x7FFF) > kHalfInfinity; }
constexpr bool half_is_infinite(unsigned bits) { return (bits & 0x7FFF) == kHalfInfinity; }
constexpr bool half_is_negative(unsigned bits) { return bits >> 15 & 1; }

// In units of 2^-24.
constexpr std::int64_t half_integer(unsigned bits) {
  const unsigned exponent = bits >> 10 & 31;
  const std::int64_t fraction = bits & 0x3FF;
  const std::int64_t magnitude = exponent == 0 ? fraction : (1024 + fraction) << (exponent - 1);
  return half_is_negative(bits) ? -magnitude : magnitude;
}

// The fp16 nearest to magnitude * 2^scale; ties go to even.
constexpr unsigned half_round(bool negative, Uint128 magnitude, int scale) {
  const unsigned sign = negative ? 0x8000 : 0;
  if (magnitude == 0) return sign;
  int top = 0;
  for (Uint128 rest = magnitude >> 1; rest != 0; rest >>= 1) ++top;
  // The weight of the last bit: 11 significant bits, or down to the least subnormal.
  const int unit = top + scale - 10 < -24 ? -24 : top + scale - 10;
  const int shift = unit - scale;
  std::uint64_t significand = 0;
  if (shift <= 0) {
    significand = static_cast<std::uint64_t>(magnitude << -shift);
  } else if (shift <= top + 1) {  // else it is below half of the least subnormal
    significand = static_cast<std::uint64_t>(magnitude >> shift);
    const Uint128 rest = magnitude & ((Uint128{1} << shift) - 1), half = Uint128{1} << (shift - 1);
    if (rest > half || (rest == half && significand % 2 == 1)) ++significand;
  }
  // A significand that has become 2048 carries into the exponent by itself.
  const std::uint64_t bits = (static_cast<std::uint64_t>(unit + 24) << 10) + significand;
  return sign | (bits >= kHalfInfinity ? kHalfInfinity : static_cast<unsigned>(bits));
}

// a * b + c, rounded once.
constexpr unsigned half_fma(unsigned a, unsigned b, unsigned c) {
  if (half_is_nan(a) || half_is_nan(b) || half_is_nan(c)) return kComputeNan16;
  const bool negative = half_is_negative(a) != half_is_negative(b);
  if (half_is_infinite(a) || half_is_infinite(b)) {
    if (half_integer(a) == 0 || half_integer(b) == 0) return kComputeNan16;
    if (half_is_infinite(c) && half_is_negative(c) != negative) return kComputeNan16;
    return (negative ? 0x8000u : 0u) | kHalfInfinity;
  }
  if (half_is_infinite(c)) return c;
  const Int128 product = Int128{half_integer(a)} * half_integer(b);
  const Int128 sum = product + Int128{half_integer(c)} * (1 << 24);
  if (sum == 0) {  // negative only where both are
    const bool both = product == 0 && half_integer(c) == 0 && negative && half_is_negative(c);
    return both ? 0x8000 : 0;
  }
  return half_round(sum < 0, static_cast<Uint128>(sum < 0 ? -sum : sum), -48);
}
constexpr unsigned half_add(unsigned a, unsigned b) { return half_fma(a, 0x3C00, b); }
constexpr unsigned half_multiply(unsigned a, unsigned b) {
  // Adding a zero of the product's own sign changes nothing.
  return half_fma(a, b, (a ^ b) & 0x8000);
}

constexpr unsigned half_from_float_bits(std::uint32_t bits) {
  const unsigned exponent = bits >> 23 & 0xFF, fraction = bits & 0x7FFFFF;
  const bool negative = bits >> 31;
  if (exponent == 255) return fraction ? kComputeNan16 : (negative ? 0x8000u : 0u) | kHalfInfinity;
  return half_round(negative, exponent == 0 ? fraction : fraction | 0x800000,
                    exponent == 0 ? -149 : static_cast<int>(exponent) - 150);
}
constexpr std::uint32_t float_bits_from_half(unsigned bits) {
  const std::uint32_t sign = half_is_negative(bits) ? 0x80000000u : 0;
  if (half_is_nan(bits)) return kComputeNan32;
  if (half_is_infinite(bits)) return sign | 0x7F800000u;
  const std::int64_t value = half_integer(bits & 0x7FFF);
  if (value == 0) return sign;
  int top = 0;
  while (value >> (top + 1) != 0) ++top;
  const auto fraction =
      static_cast<std::uint32_t>(top > 23 ? value >> (top - 23) : value << (23 - top)) & 0x7FFFFFu;
  return sign | static_cast<std::uint32_t>(127 + top - 24) << 23 | fraction;
}

}  // namespace gpuready
