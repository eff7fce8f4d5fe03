// Device code of the memory test, for every target that target.cuh knows. Templates, so that
// benchmarks can build other variants beside the shipped one.
//
// Work is dealt in tiles: a block takes a tile of kThreads * kUnroll 16-byte pieces, in which
// thread t has the pieces t, t + kThreads, ...: neighbouring threads touch neighbouring pieces, and
// a thread has kUnroll independent accesses in flight. Tiles go round the grid, so that all blocks
// advance along one front (few TLB entries), whatever the size of the grid.
#pragma once

#include "kernels/memory_mix.h"
#include "kernels/memory_params.h"
#include "kernels/target.cuh"

namespace gpuready::device {

typedef u64 Pair __attribute__((ext_vector_type(2)));
typedef __attribute__((address_space(1))) Pair GlobalPair;
typedef __attribute__((address_space(1))) u64 GlobalWord;

// Cache hint of the accesses: none, or "streaming" (.cs, evict first).
enum class Hint { none, streaming };

template <Hint hint>
GPUREADY_DEVICE Pair load_pair(u64 address) {
  if constexpr (hint == Hint::streaming) {
#if defined(__AMDGCN__)
    return __builtin_nontemporal_load(reinterpret_cast<const GlobalPair*>(address));
#else
    u64 x, y;
    asm volatile("ld.global.cs.v2.u64 {%0, %1}, [%2];" : "=l"(x), "=l"(y) : "l"(address));
    return Pair{x, y};
#endif
  } else {
    return *reinterpret_cast<const GlobalPair*>(address);
  }
}

template <Hint hint>
GPUREADY_DEVICE void store_pair(u64 address, Pair value) {
  if constexpr (hint == Hint::streaming) {
#if defined(__AMDGCN__)
    __builtin_nontemporal_store(value, reinterpret_cast<GlobalPair*>(address));
#else
    asm volatile("st.global.cs.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(value.x), "l"(value.y)
                 : "memory");
#endif
  } else {
    *reinterpret_cast<GlobalPair*>(address) = value;
  }
}

template <unsigned kThreads, unsigned kUnroll>
struct Tiling {
  static constexpr u64 kTilePairs = u64{kThreads} * kUnroll;
};

template <unsigned kThreads, unsigned kUnroll, Hint hint>
GPUREADY_DEVICE void write_pattern(const MemoryPassParams& p) {
  constexpr u64 kTilePairs = Tiling<kThreads, kUnroll>::kTilePairs;
  const u64 pairs = p.words / 2;
  const u64 tiles = pairs / kTilePairs;
  const u64 first_position = p.first_index + p.salt;
  const unsigned thread = thread_index();

  for (u64 tile = block_index(); tile < tiles; tile += block_count()) {
    const u64 pair = tile * kTilePairs + thread;
    const u64 address = p.base_address + pair * 16;
    const u64 position = first_position + pair * 2;
#pragma unroll
    for (unsigned k = 0; k < kUnroll; ++k) {
      const u64 x = position + u64{k} * kThreads * 2;
      store_pair<hint>(address + u64{k} * kThreads * 16,
                       Pair{mix_word(x, p.invert), mix_word(x + 1, p.invert)});
    }
  }
  // Fewer than one tile is left: the last block's threads share it.
  if (block_index() == block_count() - 1) {
    for (u64 pair = tiles * kTilePairs + thread; pair < pairs; pair += kThreads) {
      const u64 x = first_position + pair * 2;
      store_pair<Hint::none>(p.base_address + pair * 16,
                             Pair{mix_word(x, p.invert), mix_word(x + 1, p.invert)});
    }
  }
  // Injection: once its block has written everything, the chosen word is stored again, wrong.
  if (p.fault_bits != 0 && p.fault_index - p.first_index < p.words) {
    const u64 word = p.fault_index - p.first_index;
    const u64 tile = word / 2 / kTilePairs;
    const u64 owner = tile < tiles ? tile % block_count() : block_count() - 1;
    block_barrier();
    if (block_index() == owner && thread == 0) {
      *reinterpret_cast<GlobalWord*>(p.base_address + word * 8) =
          mix_word(first_position + word, p.invert) ^ p.fault_bits;
    }
  }
}

// What one thread has found.
struct Tally {
  u64 words = 0, position_sum = 0, bad_words = 0, first_bad = ~u64{0};
  bool buffer_full = false;
};

GPUREADY_DEVICE void check_word(const MemoryPassParams& p, u64 position, u64 actual, Tally& tally) {
  const u64 expected = mix_word(position, p.invert);
  if (actual == expected) return;
  const u64 index = position - p.salt;
  ++tally.bad_words;
  if (index < tally.first_bad) tally.first_bad = index;
  if (tally.buffer_full) return;
  auto* results = reinterpret_cast<MemoryPassResults*>(p.results_address);
  const u64 slot = atomic_add(&results->recorded, 1);
  if (slot >= kMemoryBadWordCapacity) {
    tally.buffer_full = true;  // a thread that met a full buffer leaves the counter alone
    return;
  }
  results->entries[slot] = {index, expected, actual};
}

// Every word read is decoded to the position that it names, which must be its own. The sum of the
// decoded positions has a closed form that the host predicts.
template <unsigned kThreads, unsigned kUnroll, Hint hint>
GPUREADY_DEVICE void verify_pattern(const MemoryPassParams& p) {
  constexpr u64 kTilePairs = Tiling<kThreads, kUnroll>::kTilePairs;
  const u64 pairs = p.words / 2;
  const u64 tiles = pairs / kTilePairs;
  const u64 first_position = p.first_index + p.salt;
  const unsigned thread = thread_index();
  Tally tally;

  for (u64 tile = block_index(); tile < tiles; tile += block_count()) {
    const u64 pair = tile * kTilePairs + thread;
    const u64 address = p.base_address + pair * 16;
    const u64 position = first_position + pair * 2;
    Pair read[kUnroll];
#pragma unroll
    for (unsigned k = 0; k < kUnroll; ++k) {
      read[k] = load_pair<hint>(address + u64{k} * kThreads * 16);
    }
    u64 differing = 0;
#pragma unroll
    for (unsigned k = 0; k < kUnroll; ++k) {
      const u64 x = position + u64{k} * kThreads * 2;
      const u64 even = unmix_word(read[k].x, p.invert), odd = unmix_word(read[k].y, p.invert);
      differing |= (even ^ x) | (odd ^ (x + 1));
      tally.position_sum += even + odd;
    }
    tally.words += kUnroll * 2;
    if (differing != 0) {
      // Rare: one copy of the code and the words in local memory, to keep the registers few.
      u64 words[kUnroll * 2];
#pragma unroll
      for (unsigned k = 0; k < kUnroll; ++k) words[2 * k] = read[k].x, words[2 * k + 1] = read[k].y;
#pragma unroll 1
      for (unsigned k = 0; k < kUnroll * 2; ++k) {
        check_word(p, position + u64{k / 2} * kThreads * 2 + k % 2, words[k], tally);
      }
    }
  }
  if (block_index() == block_count() - 1) {
    for (u64 pair = tiles * kTilePairs + thread; pair < pairs; pair += kThreads) {
      const u64 x = first_position + pair * 2;
      const Pair read = load_pair<Hint::none>(p.base_address + pair * 16);
      tally.position_sum += unmix_word(read.x, p.invert) + unmix_word(read.y, p.invert);
      tally.words += 2;
      check_word(p, x, read.x, tally);
      check_word(p, x + 1, read.y, tally);
    }
  }

  auto* results = reinterpret_cast<MemoryPassResults*>(p.results_address);
  const u64 words = warp_sum(tally.words), position_sum = warp_sum(tally.position_sum);
  if (thread % warp_threads() == 0) {
    atomic_add(&results->words_verified, words);
    atomic_add(&results->position_sum, position_sum);
  }
  if (tally.bad_words != 0) {
    atomic_add(&results->bad_words, tally.bad_words);
    atomic_min(&results->first_bad_index, tally.first_bad);
  }
}

template <unsigned kThreads, unsigned kUnroll, Hint hint>
GPUREADY_DEVICE void copy_memory(const MemoryCopyParams& p) {
  constexpr u64 kTilePairs = Tiling<kThreads, kUnroll>::kTilePairs;
  const u64 pairs = p.bytes / 16;
  const u64 tiles = pairs / kTilePairs;
  const unsigned thread = thread_index();
  for (u64 tile = block_index(); tile < tiles; tile += block_count()) {
    const u64 offset = (tile * kTilePairs + thread) * 16;
    Pair read[kUnroll];
#pragma unroll
    for (unsigned k = 0; k < kUnroll; ++k) {
      read[k] = load_pair<hint>(p.source_address + offset + u64{k} * kThreads * 16);
    }
#pragma unroll
    for (unsigned k = 0; k < kUnroll; ++k) {
      store_pair<hint>(p.target_address + offset + u64{k} * kThreads * 16, read[k]);
    }
  }
  if (block_index() == block_count() - 1) {
    for (u64 pair = tiles * kTilePairs + thread; pair < pairs; pair += kThreads) {
      store_pair<Hint::none>(p.target_address + pair * 16,
                             load_pair<Hint::none>(p.source_address + pair * 16));
    }
  }
}

}  // namespace gpuready::device
