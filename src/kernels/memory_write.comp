// write_pattern() of memory_device.cuh.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "memory_vulkan.glsl"
#include "memory_pass_vulkan.glsl"

uvec4 pattern_pair(u64 position) {
  const uint invert = uint(p.invert);
  return uvec4(mix_word(position, invert), mix_word(position + 1, invert));
}

void main() {
  const u64 pairs = p.words / 2;
  const u64 tiles = pairs / kTilePairs;
  const u64 first_position = p.first_index + p.salt;
  const u64 thread = u64(gl_LocalInvocationID.x);
  const u64 block = u64(gl_WorkGroupID.x), blocks = u64(gl_NumWorkGroups.x);

  for (u64 tile = block; tile < tiles; tile += blocks) {
    const u64 pair = tile * kTilePairs + thread;
    [[unroll]] for (uint k = 0; k < kUnroll; ++k) {
      const u64 at = pair + u64(k * kThreads);
      Pair(p.base_address + at * 16).value = pattern_pair(first_position + at * 2);
    }
  }
  // Fewer than one tile is left: the last block's threads share it.
  if (block == blocks - 1) {
    for (u64 pair = tiles * kTilePairs + thread; pair < pairs; pair += u64(kThreads))
      Pair(p.base_address + pair * 16).value = pattern_pair(first_position + pair * 2);
  }
  // Injection: once its block has written everything, the chosen word is stored again, wrong.
  if (p.fault_bits != 0 && p.fault_index - p.first_index < p.words) {
    const u64 word = p.fault_index - p.first_index;
    const u64 tile = word / 2 / kTilePairs;
    const u64 owner = tile < tiles ? tile % blocks : blocks - 1;
    memoryBarrierBuffer();
    barrier();
    if (block == owner && thread == 0)
      Word(p.base_address + word * 8).value =
          mix_word(first_position + word, uint(p.invert)) ^ halves(p.fault_bits);
  }
}
