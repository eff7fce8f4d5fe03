// Arithmetic of 16-bit floats, exact before its one rounding.
#pragma once

#include <algorithm>
#include <cmath>

#include "machine.h"

namespace ptx {

inline float half_value(u16 h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  const float magnitude = exponent == 31 ? (fraction ? std::nanf("") : HUGE_VALF)
                          : exponent
                              ? std::ldexp(static_cast<float>(1024 + fraction), exponent - 25)
                              : std::ldexp(static_cast<float>(fraction), -24);
  return h & 0x8000 ? -magnitude : magnitude;
}

// The nearest half, ties to even.
inline u16 nearest_half(double value) {
  const u16 sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7fff;
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520) return sign | 0x7c00;
  int exponent = 0;
  if (magnitude > 0) std::frexp(magnitude, &exponent);
  const int unit = std::max(exponent, -13) - 11;  // of the last place: 2^unit
  const double scaled = std::ldexp(magnitude, -unit);
  double whole = std::floor(scaled);
  const double rest = scaled - whole;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1)) whole += 1;
  const double rounded = std::ldexp(whole, unit);
  if (rounded < std::ldexp(1.0, -14)) return sign | static_cast<u16>(std::ldexp(rounded, 24));
  std::frexp(rounded, &exponent);
  const auto fraction = static_cast<u16>(std::ldexp(rounded, 11 - exponent));  // 1024 to 2047
  return sign | static_cast<u16>((exponent + 14) << 10 | (fraction & 1023));
}

// Sums and products of two halves are exact in a double.
inline u16 half_add(u16 a, u16 b) {
  return nearest_half(double{half_value(a)} + double{half_value(b)});
}
inline u16 half_mul(u16 a, u16 b) {
  return nearest_half(double{half_value(a)} * double{half_value(b)});
}
// The exact product and a half need up to 64 bits: what the sum in double loses is found by
// subtracting, and breaks a tie.
inline u16 half_fma(u16 a, u16 b, u16 c) {
  const double product = double{half_value(a)} * double{half_value(b)}, addend = half_value(c);
  const double sum = product + addend;
  if (!std::isfinite(sum)) return nearest_half(sum);
  const double of_addend = sum - product, of_product = sum - of_addend;
  const double lost = (addend - of_addend) + (product - of_product);
  if (lost == 0) return nearest_half(sum);
  // Away from the tie that the double may lie on.
  return nearest_half(std::nextafter(sum, lost > 0 ? HUGE_VAL : -HUGE_VAL));
}

template <class F>
inline u32 pairwise(u32 a, u32 b, F f) {
  return u32{f(static_cast<u16>(a), static_cast<u16>(b))} |
         u32{f(static_cast<u16>(a >> 16), static_cast<u16>(b >> 16))} << 16;
}

// max.NaN of 16-bit floats whose infinity is kInfinity: sign and magnitude order them.
template <u16 kInfinity, u16 kNan>
inline u16 greatest_half(u16 a, u16 b) {
  if ((a & 0x7fff) > kInfinity || (b & 0x7fff) > kInfinity) return kNan;
  const auto rank = [](u16 h) { return h & 0x8000 ? -(h & 0x7fff) - 1 : h & 0x7fff; };
  return rank(a) > rank(b) ? a : b;
}

}  // namespace ptx
