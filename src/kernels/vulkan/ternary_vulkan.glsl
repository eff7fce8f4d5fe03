// What the ternary kernels in GLSL share. Vulkan promises neither how an f32 product is rounded, nor
// that subnormals are kept, nor an exact quotient: these are done in integers, so that every device
// gives the CPU's bits.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

#define u64 uint64_t

const uint kThreads = 128;
layout(local_size_x = 128) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Word { uint value; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Words { uvec4 value; };

const uint kTileCols = 128, kTileRows = 16, kTileBytes = 512;
const uint kNan = 0x7FFFFFFFu, kInfinity = 0x7F800000u;

// A magnitude `fraction` * 2^exponent, `sticky` when something below was lost, as f32 bits.
uint round_to_f32(uint sign, u64 fraction, int exponent, bool sticky) {
  if (fraction == 0) return sign;
  const uint high = uint(fraction >> 32);
  const int top = high != 0 ? 32 + findMSB(high) : findMSB(uint(fraction));
  // The last place kept: 24 bits, or where subnormals end.
  const int shift = max(top - 23, -149 - exponent);
  u64 kept = fraction;
  if (shift > 63) {
    return sign;  // below half of the least subnormal
  } else if (shift > 0) {
    kept = fraction >> shift;
    const u64 rest = fraction - (kept << shift), half_way = u64(1) << (shift - 1);
    if (rest > half_way || (rest == half_way && (sticky || (kept & 1) != 0))) ++kept;
  } else {
    kept = fraction << -shift;
  }
  // Bits as if the fraction had 24 bits: a carry out of it, and a subnormal's lack of the highest,
  // make the exponent right by themselves.
  const int biased = exponent + shift + 150;
  if (biased > 254) return sign | kInfinity;
  return sign | min(uint(kept) + (uint(biased - 1) << 23), kInfinity);
}

// Of a finite number: its fraction with the hidden bit, and the power of two of that one's unit.
uint fraction_of(uint bits) {
  return (bits & 0x7F800000u) == 0 ? bits & 0x7FFFFFu : bits & 0x7FFFFFu | 0x800000u;
}
int exponent_of(uint bits) { return max(int(bits >> 23 & 0xFFu), 1) - 150; }
bool is_finite(uint bits) { return (bits & 0x7FFFFFFFu) < kInfinity; }

// a * b, rounded to nearest even. NaN when either is not finite.
uint multiply_f32(uint a, uint b) {
  if (!is_finite(a) || !is_finite(b)) return kNan;
  return round_to_f32((a ^ b) & 0x80000000u, u64(fraction_of(a)) * u64(fraction_of(b)),
                      exponent_of(a) + exponent_of(b), false);
}
// a / b of positive normal numbers.
uint divide_f32(uint a, uint b) {
  const u64 dividend = u64(fraction_of(a)) << 32, divisor = u64(fraction_of(b));
  const u64 quotient = dividend / divisor;
  return round_to_f32(0, quotient, exponent_of(a) - exponent_of(b) - 32,
                      quotient * divisor != dividend);
}
uint int_to_f32(int value) {
  return round_to_f32(value < 0 ? 0x80000000u : 0u, u64(uint(value < 0 ? -value : value)), 0,
                      false);
}
uint half_to_f32(uint bits) {
  const uint sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31u, fraction = bits & 0x3FFu;
  if (exponent == 31) return sign | kInfinity | fraction << 13;
  if (exponent != 0) return sign | (exponent + 112) << 23 | fraction << 13;
  return round_to_f32(sign, u64(fraction), -24, false);
}
