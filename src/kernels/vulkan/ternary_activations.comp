// Rows of activations to int8, by the rule of Activations::quantise(): a work group a row.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "ternary_vulkan.glsl"

// TernaryActivationParams
layout(push_constant, std430) uniform Params {
  u64 values_address, codes_address, rows_address;
  uint rows, cols, stride, value_type;
} p;

const uint kNoColumn = ~0u;
shared uint shared_greatest, shared_bad;
shared int shared_sum;

uint value_at(u64 first, uint i) {
  const u64 index = first + u64(i);
  if (p.value_type == 0) return Word(p.values_address + index * 4).value;
  const uint word = Word(p.values_address + (index / 2) * 4).value;
  const uint bits = (index & 1) != 0 ? word >> 16 : word & 0xFFFFu;
  return p.value_type == 1 ? half_to_f32(bits) : bits << 16;
}

// clamp(round-half-even(value), -128, 127) of an f32 below 2^23 in magnitude.
int round_to_int(uint bits) {
  const int exponent = exponent_of(bits);
  const uint fraction = fraction_of(bits);
  uint kept = 0;
  if (exponent > -25) {
    const uint shift = uint(-exponent);
    kept = fraction >> shift;
    const uint rest = fraction - (kept << shift), half_way = 1u << (shift - 1);
    if (rest > half_way || (rest == half_way && (kept & 1) != 0)) ++kept;
  }
  return clamp(bits >> 31 != 0 ? -int(kept) : int(kept), -128, 127);
}

void main() {
  for (uint row = gl_WorkGroupID.x; row < p.rows; row += gl_NumWorkGroups.x) {
    const u64 first = u64(row) * u64(p.cols);
    if (gl_LocalInvocationID.x == 0) {
      shared_greatest = 0;
      shared_bad = kNoColumn;
      shared_sum = 0;
    }
    barrier();
    uint greatest = 0;
    for (uint i = gl_LocalInvocationID.x; i < p.cols; i += kThreads) {
      const uint magnitude = value_at(first, i) & 0x7FFFFFFFu;
      greatest = max(greatest, magnitude);
      if (magnitude >= kInfinity) atomicMin(shared_bad, i);
    }
    atomicMax(shared_greatest, greatest);
    barrier();
    const bool finite = shared_bad == kNoColumn;
    const uint limit = max(shared_greatest, 0x3727C5ACu);  // 1e-5
    const uint scale = finite ? divide_f32(0x42FE0000u, limit) : 0;  // 127 / limit
    int sum = 0;
    for (uint word = gl_LocalInvocationID.x; word < p.stride / 4; word += kThreads) {
      uint four = 0;
      for (uint b = 0; b < 4; ++b) {
        const uint i = 4 * word + b;
        if (i >= p.cols || !finite) continue;
        const int q = round_to_int(multiply_f32(value_at(first, i), scale));
        sum += q;
        four |= (uint(q) & 0xFFu) << 8 * b;
      }
      Word(p.codes_address + u64(row) * u64(p.stride) + u64(word) * 4).value = four;
    }
    atomicAdd(shared_sum, sum);
    barrier();
    if (gl_LocalInvocationID.x == 0) {
      const u64 at = p.rows_address + u64(row) * 16;
      Word(at).value = finite ? divide_f32(limit, 0x42FE0000u) : kNan;
      Word(at + 4).value = uint(shared_sum);
      Word(at + 8).value = shared_bad;
    }
    barrier();
  }
}
