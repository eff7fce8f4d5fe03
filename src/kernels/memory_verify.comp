// verify_pattern() of memory_device.cuh.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "memory_vulkan.glsl"
#include "memory_pass_vulkan.glsl"

const uint kBadWordCapacity = 4096;
const uint kEntriesOffset = 64, kEntryBytes = 24;

layout(buffer_reference, std430, buffer_reference_align = 8) coherent volatile buffer Results {
  uvec2 words_verified, position_sum, bad_words, first_bad_index, recorded;
  uint lock;  // in the part that is reserved, and zero whenever a launch ends
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Entry {
  uvec2 index, expected, actual;
};

// What one thread has found.
u64 tally_words = 0, tally_position_sum = 0, tally_bad_words = 0, tally_first_bad = ~u64(0);
bool buffer_full = false;

void check_word(u64 position, uvec2 actual) {
  const uvec2 expected = mix_word(position, uint(p.invert));
  if (actual == expected) return;
  const u64 index = position - p.salt;
  ++tally_bad_words;
  tally_first_bad = min(tally_first_bad, index);
  if (buffer_full) return;
  const uint slot = atomicAdd(Results(p.results_address).recorded.x, 1);
  if (slot >= kBadWordCapacity) {
    buffer_full = true;  // a thread that met a full buffer leaves the counter alone
    return;
  }
  Entry entry = Entry(p.results_address + u64(kEntriesOffset + slot * kEntryBytes));
  entry.index = halves(index);
  entry.expected = expected;
  entry.actual = actual;
}

// Adds to 64 bits by two 32-bit atomics: each time the low half wraps, exactly one addition sees it,
// and carries.
#define ADD_64(target, value)                               \
  {                                                         \
    const uvec2 addend = halves(value);                     \
    const uint before = atomicAdd(target.x, addend.x);      \
    const uint carry = before + addend.x < before ? 1u : 0u; \
    if (addend.y + carry != 0) atomicAdd(target.y, addend.y + carry); \
  }

// There is no 32-bit way to lower 64 bits: one thread at a time may. Only where words are bad.
void lower_first_bad(u64 index) {
  Results results = Results(p.results_address);
  for (bool done = false; !done;) {
    if (atomicCompSwap(results.lock, 0, 1) == 0) {
      memoryBarrierBuffer();
      if (index < whole(results.first_bad_index)) results.first_bad_index = halves(index);
      memoryBarrierBuffer();
      atomicExchange(results.lock, 0);
      done = true;
    }
  }
}

shared u64 block_words[kThreads], block_position_sum[kThreads], block_bad_words[kThreads],
    block_first_bad[kThreads];

void add_to_results() {
  const uint thread = gl_LocalInvocationID.x;
  block_words[thread] = tally_words;
  block_position_sum[thread] = tally_position_sum;
  block_bad_words[thread] = tally_bad_words;
  block_first_bad[thread] = tally_first_bad;
  for (uint step = kThreads / 2; step > 0; step /= 2) {
    barrier();
    if (thread < step) {
      block_words[thread] += block_words[thread + step];
      block_position_sum[thread] += block_position_sum[thread + step];
      block_bad_words[thread] += block_bad_words[thread + step];
      block_first_bad[thread] = min(block_first_bad[thread], block_first_bad[thread + step]);
    }
  }
  if (thread != 0) return;
  Results results = Results(p.results_address);
  ADD_64(results.words_verified, block_words[0])
  ADD_64(results.position_sum, block_position_sum[0])
  if (block_bad_words[0] != 0) {
    ADD_64(results.bad_words, block_bad_words[0])
    lower_first_bad(block_first_bad[0]);
  }
}

void main() {
  const u64 pairs = p.words / 2;
  const u64 tiles = pairs / kTilePairs;
  const u64 first_position = p.first_index + p.salt;
  const uint invert = uint(p.invert);
  const u64 thread = u64(gl_LocalInvocationID.x);
  const u64 block = u64(gl_WorkGroupID.x), blocks = u64(gl_NumWorkGroups.x);

  for (u64 tile = block; tile < tiles; tile += blocks) {
    const u64 pair = tile * kTilePairs + thread;
    uvec4 read[kUnroll];
    [[unroll]] for (uint k = 0; k < kUnroll; ++k)
      read[k] = Pair(p.base_address + (pair + u64(k * kThreads)) * 16).value;
    u64 differing = 0;
    [[unroll]] for (uint k = 0; k < kUnroll; ++k) {
      const u64 x = first_position + (pair + u64(k * kThreads)) * 2;
      const u64 even = unmix_word(read[k].xy, invert), odd = unmix_word(read[k].zw, invert);
      differing |= (even ^ x) | (odd ^ (x + 1));
      tally_position_sum += even + odd;
    }
    tally_words += u64(kUnroll * 2);
    if (differing != 0) {
      [[unroll]] for (uint k = 0; k < kUnroll; ++k) {
        const u64 x = first_position + (pair + u64(k * kThreads)) * 2;
        check_word(x, read[k].xy);
        check_word(x + 1, read[k].zw);
      }
    }
  }
  if (block == blocks - 1) {
    for (u64 pair = tiles * kTilePairs + thread; pair < pairs; pair += u64(kThreads)) {
      const u64 x = first_position + pair * 2;
      const uvec4 read = Pair(p.base_address + pair * 16).value;
      tally_position_sum += unmix_word(read.xy, invert) + unmix_word(read.zw, invert);
      tally_words += 2;
      check_word(x, read.xy);
      check_word(x + 1, read.zw);
    }
  }
  add_to_results();
}
