// record.cu.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "memory_vulkan.glsl"

layout(push_constant, std430) uniform Params {
  u64 address, words, nonce, seal_address, work, ones_word;
} p;

layout(buffer_reference, std430, buffer_reference_align = 8) buffer Seal {
  uvec2 reset_nonce, seal_nonce, words, checksum;
};

shared uvec2 sums[kThreads];

void main() {
  const uint thread = gl_LocalInvocationID.x;
  Seal seal = Seal(p.seal_address);
  if (p.work == 0) {
    for (u64 i = u64(thread); i < p.words; i += u64(kThreads))
      Word(p.address + i * 8).value = i == p.ones_word ? uvec2(~0u) : uvec2(0);
    memoryBarrierBuffer();
    barrier();
    if (thread == 0) seal.reset_nonce = halves(p.nonce);
    return;
  }
  u64 sum = u64(0);
  for (u64 i = u64(thread); i < p.words; i += u64(kThreads))
    sum += whole(mix_word(whole(Word(p.address + i * 8).value) + i * 0x9E3779B97F4A7C15ul, 0));
  sums[thread] = halves(sum);
  barrier();
  if (thread != 0) return;
  u64 all = u64(0);
  for (uint i = 0; i < kThreads; ++i) all += whole(sums[i]);
  seal.words = halves(p.words);
  seal.checksum = halves(all);
  memoryBarrierBuffer();
  seal.seal_nonce = halves(p.nonce);
}
