// Device code of the memory test, compiled by clang without any vendor's header (target.cuh).
// Templates, so that benchmarks can build other variants beside the shipped one.
//
// Work is dealt in tiles of kThreads * kUnroll 16-byte pieces, in which thread t has the pieces t,
// t + kThreads, ...: neighbouring threads touch neighbouring pieces, and a thread has kUnroll
// independent accesses in flight. A block has a few tiles that follow each other. Grids are as
// large as that takes: the hardware starts blocks in order as others end, so that all that run stay
// close together (few open DRAM pages and TLB entries); a grid of fixed size whose blocks go round
// drifts apart and was measured to be slower (docs/performance-history.md).
#pragma once

#include "kernel_abi/memory_patterns.h"
#include "kernels/cuda/target.cuh"

namespace gpuready::device {

typedef u64 Pair __attribute__((ext_vector_type(2)));
typedef GPUREADY_GLOBAL_MEMORY Pair GlobalPair;
typedef GPUREADY_GLOBAL_MEMORY u64 GlobalWord;

// Cache hint of the accesses: none, or "streaming" (.cs, evict first; NVIDIA alone).
enum class Hint { none, streaming };

template <Hint hint>
GPUREADY_DEVICE Pair load_pair(u64 address) {
#if defined(__NVPTX__)
  if constexpr (hint == Hint::streaming) {
    Pair pair;
    asm volatile("ld.global.cs.v2.u64 {%0, %1}, [%2];" : "=l"(pair.x), "=l"(pair.y) : "l"(address));
    return pair;
  }
#endif
  return *reinterpret_cast<const GlobalPair*>(address);
}

template <Hint hint>
GPUREADY_DEVICE void store_pair(u64 address, Pair value) {
#if defined(__NVPTX__)
  if constexpr (hint == Hint::streaming) {
    asm volatile("st.global.cs.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(value.x), "l"(value.y)
                 : "memory");
    return;
  }
#endif
  *reinterpret_cast<GlobalPair*>(address) = value;
}

template <class Pattern>
GPUREADY_DEVICE Pair pair_of(const MemoryPassParams& p, NamedWord even) {
  return {Pattern::word(p, even), Pattern::word(p, {Pattern::next(even.name), even.invert})};
}

// The share of a block: its tiles, in either direction, and for the last block the rest that is no
// whole tile. All of it in pairs of words, counted from the start of this launch's part.
template <unsigned kThreads, unsigned kUnroll>
struct Tiling {
  static constexpr u64 kTilePairs = u64{kThreads} * kUnroll;
  u64 pairs, tiles, tiles_per_block;
  bool descending;
  GPUREADY_DEVICE Tiling(u64 words, bool down)
      : pairs(words / 2),
        tiles(words / 2 / kTilePairs),
        tiles_per_block((tiles + block_count() - 1) / block_count()),
        descending(down) {}
  GPUREADY_DEVICE Tiling(const MemoryPassParams& p) : Tiling(p.words, p.descending != 0) {}

  // tile_work(first pair of this thread in the tile), rest_work(pair)
  template <class TileWork, class RestWork>
  GPUREADY_DEVICE void for_each(TileWork tile_work, RestWork rest_work) const {
    const u64 thread = thread_index(), first = block_index() * tiles_per_block;
    const u64 end = first + tiles_per_block < tiles ? first + tiles_per_block : tiles;
    for (u64 i = first; i < end; ++i) {
      tile_work((descending ? tiles - 1 - i : i) * kTilePairs + thread);
    }
    if (block_index() == block_count() - 1) {
      for (u64 pair = tiles * kTilePairs + thread; pair < pairs; pair += kThreads) rest_work(pair);
    }
  }
  GPUREADY_DEVICE bool owns(u64 pair) const {
    const u64 tile = pair / kTilePairs;
    if (tile >= tiles) return block_index() == block_count() - 1;
    return (descending ? tiles - 1 - tile : tile) / tiles_per_block == block_index();
  }
};

// Only the modulo pattern is ever written in part: the question costs nothing elsewhere.
template <class Pattern>
constexpr bool kHasParts = __is_same(Pattern, ModuloPattern);

template <unsigned kThreads, unsigned kUnroll, Hint hint, class Pattern>
GPUREADY_DEVICE void write_pattern(const MemoryPassParams& p) {
  Tiling<kThreads, kUnroll>(p).for_each(
      [&](u64 pair) __attribute__((always_inline)) {
        const u64 address = p.base_address + pair * 16, index = p.first_index + pair * 2;
#pragma unroll
        for (unsigned k = 0; k < kUnroll; ++k) {
          const NamedWord even = Pattern::at(p, index + u64{k} * kThreads * 2);
          if (kHasParts<Pattern> && !is_selected(p, even)) continue;
          store_pair<hint>(address + u64{k} * kThreads * 16, pair_of<Pattern>(p, even));
        }
      },
      [&](u64 pair) __attribute__((always_inline)) {
        const NamedWord even = Pattern::at(p, p.first_index + pair * 2);
        if (kHasParts<Pattern> && !is_selected(p, even)) return;
        store_pair<Hint::none>(p.base_address + pair * 16, pair_of<Pattern>(p, even));
      });
}

// What one thread has found.
struct Tally {
  u64 words = 0, name_sum = 0, bad_words = 0, first_bad = ~u64{0};
  bool buffer_full = false;
};

template <class Pattern>
GPUREADY_DEVICE void check_word(const MemoryPassParams& p, u64 index, u64 actual, Tally& tally) {
  const u64 expected = Pattern::word(p, Pattern::at(p, index));
  if (actual == expected) return;
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

// Once by every thread of the block.
template <unsigned kThreads>
GPUREADY_DEVICE void add_tally(const MemoryPassParams& p, const Tally& tally) {
  constexpr unsigned kMostWarps = kThreads / 32;
  static GPUREADY_SHARED u64 words_of[kMostWarps], sum_of[kMostWarps];
  auto* results = reinterpret_cast<MemoryPassResults*>(p.results_address);
  const u64 words = warp_sum_32(static_cast<u32>(tally.words)), name_sum = warp_sum(tally.name_sum);
  const unsigned thread = thread_index(), warp = thread / warp_threads();
  if (thread % warp_threads() == 0) {
    words_of[warp] = words;
    sum_of[warp] = name_sum;
  }
  block_barrier();
  if (thread == 0) {
    u64 all_words = 0, all_sum = 0;
    for (unsigned i = 0; i < block_threads() / warp_threads(); ++i) {
      all_words += words_of[i];
      all_sum += sum_of[i];
    }
    MemoryCountSlot& slot = results->slots[block_index() % kMemoryCountSlots];
    atomic_add(&slot.words_verified, all_words);
    atomic_add(&slot.name_sum, all_sum);
  }
  if (tally.bad_words != 0) {
    atomic_add(&results->bad_words, tally.bad_words);
    atomic_min(&results->first_bad_index, tally.first_bad);
  }
}

// Every word read is decoded to its name, which must be that of its place. The sum of the decoded
// names has a closed form that the host predicts. With kInvert the complement is then written in
// place: a thread has read all of its tile before it stores.
template <unsigned kThreads, unsigned kUnroll, Hint hint, class Pattern, bool kInvert>
GPUREADY_DEVICE void verify_pattern(const MemoryPassParams& p) {
  Tally tally;
  Tiling<kThreads, kUnroll>(p).for_each(
      [&](u64 pair) __attribute__((always_inline)) {
        const u64 address = p.base_address + pair * 16, index = p.first_index + pair * 2;
        Pair read[kUnroll];
#pragma unroll
        for (unsigned k = 0; k < kUnroll; ++k) {
          read[k] = load_pair<hint>(address + u64{k} * kThreads * 16);
        }
        u64 differing = 0;
#pragma unroll
        for (unsigned k = 0; k < kUnroll; ++k) {
          const NamedWord own = Pattern::at(p, index + u64{k} * kThreads * 2);
          const u64 even = Pattern::decode(p, own.invert, read[k].x),
                    odd = Pattern::decode(p, own.invert, read[k].y);
          differing |= (even ^ own.name) | (odd ^ Pattern::next(own.name));
          tally.name_sum += even + odd;
        }
        tally.words += kUnroll * 2;
        if (differing != 0) {
          // Rare: one copy of the code and the words in local memory, to keep the registers few.
          u64 words[kUnroll * 2];
#pragma unroll
          for (unsigned k = 0; k < kUnroll; ++k) {
            words[2 * k] = read[k].x;
            words[2 * k + 1] = read[k].y;
          }
#pragma unroll 1
          for (unsigned k = 0; k < kUnroll * 2; ++k) {
            check_word<Pattern>(p, index + u64{k / 2} * kThreads * 2 + k % 2, words[k], tally);
          }
        }
        if constexpr (kInvert) {
          // A good word's complement is what is to be written; only where one is bad is it made
          // again.
          if (differing != 0) {
#pragma unroll
            for (unsigned k = 0; k < kUnroll; ++k) {
              read[k] = pair_of<Pattern>(p, Pattern::at(p, index + u64{k} * kThreads * 2));
            }
          }
#pragma unroll
          for (unsigned k = 0; k < kUnroll; ++k) {
            store_pair<hint>(address + u64{k} * kThreads * 16, ~read[k]);
          }
        }
      },
      [&](u64 pair) __attribute__((always_inline)) {
        const u64 index = p.first_index + pair * 2;
        const NamedWord own = Pattern::at(p, index);
        const Pair read = load_pair<Hint::none>(p.base_address + pair * 16);
        tally.name_sum += Pattern::decode(p, own.invert, read.x);
        tally.name_sum += Pattern::decode(p, own.invert, read.y);
        tally.words += 2;
        check_word<Pattern>(p, index, read.x, tally);
        check_word<Pattern>(p, index + 1, read.y, tally);
        if constexpr (kInvert) {
          store_pair<Hint::none>(p.base_address + pair * 16, ~pair_of<Pattern>(p, own));
        }
      });
  add_tally<kThreads>(p, tally);
}

template <unsigned kThreads, unsigned kUnroll, Hint hint>
GPUREADY_DEVICE void copy_memory(const MemoryCopyParams& p) {
  Tiling<kThreads, kUnroll>(p.bytes / 8, false)
      .for_each(
          [&](u64 pair) __attribute__((always_inline)) {
            Pair read[kUnroll];
#pragma unroll
            for (unsigned k = 0; k < kUnroll; ++k) {
              read[k] = load_pair<hint>(p.source_address + (pair + u64{k} * kThreads) * 16);
            }
#pragma unroll
            for (unsigned k = 0; k < kUnroll; ++k) {
              store_pair<hint>(p.target_address + (pair + u64{k} * kThreads) * 16, read[k]);
            }
          },
          [&](u64 pair) __attribute__((always_inline)) {
            store_pair<Hint::none>(p.target_address + pair * 16,
                                   load_pair<Hint::none>(p.source_address + pair * 16));
          });
}

}  // namespace gpuready::device
