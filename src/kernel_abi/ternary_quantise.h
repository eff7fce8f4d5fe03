// How one activation is quantised, for every processor: the same operations, in the same order, as
// Activations::quantise(). No header, for the device.
#pragma once

namespace gpuready::ternary {

// The bits of a float without its sign are in the order of its magnitude; from here on, not finite.
inline constexpr unsigned kInfinityBits = 0x7f800000;

// limit = max(1e-5, absmax); one unit of the codes is worth limit / 127.
constexpr float activation_limit(float absmax) { return absmax > 1e-5f ? absmax : 1e-5f; }
constexpr float activation_scale(float limit) { return 127.0f / limit; }
constexpr float activation_step(float limit) { return limit / 127.0f; }

// Adding 1.5 * 2^23 rounds to an integer, half to even, and leaves it in the low bits.
constexpr int quantise_activation(float value, float scale) {
  const int q = __builtin_bit_cast(int, value* scale + 12582912.0f) - 0x4B400000;
  return q > 127 ? 127 : q < -128 ? -128 : q;
}

// The value of a half, exactly, by its bits.
constexpr float half_value(unsigned bits) {
  const unsigned sign = (bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00) return __builtin_bit_cast(float, sign | 0x7f800000 | (rest & 0x3ff) << 13);
  // As if its exponent were a float's; then scaled by 2^112, which is right for subnormals too.
  return __builtin_bit_cast(float, sign | rest << 13) * 0x1p112f;
}

}  // namespace gpuready::ternary
