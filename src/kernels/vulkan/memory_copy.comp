// copy_memory() of memory_device.cuh.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "memory_vulkan.glsl"

layout(push_constant, std430) uniform Params { u64 target_address, source_address, bytes; } p;

void main() {
  // One access of a thread at a time was measured to be the fastest way to copy.
  const u64 tile_pairs = u64(kThreads);
  const u64 pairs = p.bytes / 16, tiles = pairs / tile_pairs;
  const u64 thread = u64(gl_LocalInvocationID.x);
  const u64 block = u64(gl_WorkGroupID.x), blocks = u64(gl_NumWorkGroups.x);
  const u64 tiles_per_block = (tiles + blocks - 1) / blocks;
  const u64 first = block * tiles_per_block, end = min(first + tiles_per_block, tiles);
  for (u64 tile = first; tile < end; ++tile) {
    const u64 offset = (tile * tile_pairs + thread) * 16;
    Pair(p.target_address + offset).value = Pair(p.source_address + offset).value;
  }
  if (block == blocks - 1) {
    for (u64 pair = tiles * tile_pairs + thread; pair < pairs; pair += u64(kThreads))
      Pair(p.target_address + pair * 16).value = Pair(p.source_address + pair * 16).value;
  }
}
