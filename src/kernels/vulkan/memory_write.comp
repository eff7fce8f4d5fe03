// write_pattern() of memory_device.cuh.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "memory_vulkan.glsl"
#include "memory_pass_vulkan.glsl"

void write_pattern(const uint pattern) {
  for (u64 tile = tiling_first; tile < tiling_end; ++tile) {
    const u64 pair = first_pair(tile);
    [[unroll]] for (uint k = 0; k < kUnroll; ++k) {
      const u64 at = pair + u64(k * kThreads);
      const NamedWord even = named_at(pattern, p.first_index + at * 2);
      if (pattern == kPatternModulo && !is_selected(even)) continue;
      Pair(p.base_address + at * 16).value = pair_of(pattern, even);
    }
  }
  if (!is_last_block()) return;
  for (u64 pair = first_rest_pair(); pair < tiling_pairs; pair += u64(kThreads)) {
    const NamedWord even = named_at(pattern, p.first_index + pair * 2);
    if (pattern == kPatternModulo && !is_selected(even)) continue;
    Pair(p.base_address + pair * 16).value = pair_of(pattern, even);
  }
}

void main() {
  make_tiling(p.words);
  before_write();
  if (p.pattern == kPatternAddress)
    write_pattern(kPatternAddress);
  else if (p.pattern == kPatternRandom)
    write_pattern(kPatternRandom);
  else if (p.pattern == kPatternWalking)
    write_pattern(kPatternWalking);
  else
    write_pattern(kPatternModulo);
  after_write(uint(p.invert));
}
