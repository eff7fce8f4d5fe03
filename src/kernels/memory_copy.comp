// copy_memory() of memory_device.cuh.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "memory_vulkan.glsl"

layout(push_constant, std430) uniform Params { u64 target_address, source_address, bytes; } p;

void main() {
  const u64 pairs = p.bytes / 16;
  const u64 tiles = pairs / kTilePairs;
  const u64 thread = u64(gl_LocalInvocationID.x);
  const u64 block = u64(gl_WorkGroupID.x), blocks = u64(gl_NumWorkGroups.x);
  for (u64 tile = block; tile < tiles; tile += blocks) {
    const u64 offset = (tile * kTilePairs + thread) * 16;
    uvec4 read[kUnroll];
    [[unroll]] for (uint k = 0; k < kUnroll; ++k)
      read[k] = Pair(p.source_address + offset + u64(k * kThreads * 16)).value;
    [[unroll]] for (uint k = 0; k < kUnroll; ++k)
      Pair(p.target_address + offset + u64(k * kThreads * 16)).value = read[k];
  }
  if (block == blocks - 1) {
    for (u64 pair = tiles * kTilePairs + thread; pair < pairs; pair += u64(kThreads))
      Pair(p.target_address + pair * 16).value = Pair(p.source_address + pair * 16).value;
  }
}
