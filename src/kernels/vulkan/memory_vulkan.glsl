// The memory test in GLSL: what memory_device.cuh and memory_mix.h do, word for word, for Vulkan.
// Addresses are 64-bit buffer device addresses. Words are handled as their two 32-bit halves (x low,
// y high), and the results' 64-bit sums are made by 32-bit atomics, so that no device needs 64-bit
// ones.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_control_flow_attributes : require

#define u64 uint64_t

const uint kThreads = 256;
const uint kUnroll = 4;  // independent 16-byte accesses of a thread
const u64 kTilePairs = u64(kThreads * kUnroll);
layout(local_size_x = 256) in;

// Two words of 64 bits.
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Pair { uvec4 value; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Word { uvec2 value; };

uvec2 halves(u64 value) { return uvec2(uint(value), uint(value >> 32)); }
u64 whole(uvec2 value) { return u64(value.y) << 32 | u64(value.x); }

u64 multiply_high(u64 x, u64 y) {
  const uvec2 a = halves(x), b = halves(y);
  const u64 low = u64(a.x) * u64(b.x);
  const u64 middle = u64(a.y) * u64(b.x) + (low >> 32);
  const u64 other = u64(a.x) * u64(b.y) + u64(uint(middle));
  return u64(a.y) * u64(b.y) + (middle >> 32) + (other >> 32);
}

// memory_mix.h
const uint kMixMultiplier1 = 0x9E3779B1u;
const uint kMixMultiplier2 = 0x85EBCA6Bu;

uint rotate_right(uint value, uint bits) { return value >> bits | value << (32 - bits); }

uvec2 mix_word(u64 position, uint invert) {
  uvec2 word = halves(position);
  word.y += word.x * kMixMultiplier1;
  word.x ^= rotate_right(word.y, 28);
  word.y += word.x * kMixMultiplier2;
  word.x ^= rotate_right(word.y, 23);
  return word ^ invert;
}

u64 unmix_word(uvec2 word, uint invert) {
  word ^= invert;
  word.x ^= rotate_right(word.y, 23);
  word.y -= word.x * kMixMultiplier2;
  word.x ^= rotate_right(word.y, 28);
  word.y -= word.x * kMixMultiplier1;
  return whole(word);
}
