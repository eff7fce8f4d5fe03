// Some rows of activations times ternary weights whose scales differ within a row: 32, 64, 128 or
// 256 columns share one. A block takes one row tile; its warps sum groups exactly, side by side,
// and put down each group's term; then one thread a result adds them in the order of their columns.
// That order is the rule which makes the bits the same on every device (docs/ternary.md).
#include "kernel_abi/ternary_gemm_params.h"
#include "kernels/cuda/ternary_products.cuh"

namespace gpuready::device {
namespace {

using ternary::TernaryGroupedParams;

inline constexpr u32 kWarps = ternary::kGroupedWarps, kThreads = 32 * kWarps;
inline constexpr u32 kPieces = 4;  // of 32 columns, in a column tile

extern GPUREADY_SHARED __attribute__((aligned(16))) u32 shared_words[];

// The word of four columns from `col` on of a row of activations.
GPUREADY_DEVICE u64 code_word(const TernaryGroupedParams& p, u32 row, u32 col) {
  if (p.tiled != 0) return p.codes_address + ternary::tiled_activation(row, col, p.col_tiles);
  return p.codes_address + static_cast<u64>(row) * p.stride + col;
}

// Barriers of the block: a step's terms are there; they have been added. One each for even and odd
// steps.
inline constexpr u32 kFilled = 2, kEmptied = 4;
template <u32 kBarrier, u32 kCount>
GPUREADY_DEVICE void named_sync() {
  asm volatile("bar.sync %0, %1;" ::"n"(kBarrier), "n"(kCount) : "memory");
}
template <u32 kBarrier>
GPUREADY_DEVICE void step_sync(u32 step) {
  if (step % 2 == 0)
    named_sync<kBarrier, kThreads + 32>();
  else
    named_sync<kBarrier + 1, kThreads + 32>();
}
template <u32 kBarrier>
GPUREADY_DEVICE void step_arrive(u32 step) {
  if (step % 2 == 0)
    asm volatile("bar.arrive %0, %1;" ::"n"(kBarrier), "n"(kThreads + 32) : "memory");
  else
    asm volatile("bar.arrive %0, %1;" ::"n"(kBarrier + 1), "n"(kThreads + 32) : "memory");
}

// One to four rows. A warp multiplies a pair of column tiles in each step; a block's pairs run on
// from row tile to row tile. The warps that multiply never wait for a sum: one more adds the terms
// of a step while they are at the next.
template <u32 kRows, u32 kGroupPieces>
struct FewRows {
  static constexpr u32 kSteps = 2;              // whose weights are on their way
  static constexpr u32 kChains = 2;             // of matrix instructions that wait for each other
  static constexpr u32 kPrefetchBytes = 16384;  // of a block's first row tile, behind those steps
  static constexpr bool kByMatrix = kRows == 1 && __CUDA_ARCH__ >= 800;
  static constexpr u32 kGroups = 2 * kPieces / kGroupPieces;  // of a pair
  static constexpr u32 kStepGroups = kWarps * kGroups;
  // A lane's results of a pair: of groups that follow each other, and of rows 8 apart.
  static constexpr u32 kOwnGroups = kGroups == 1 ? 1 : kByMatrix ? 2 : kGroups / 2;
  static constexpr u32 kOwnRows = kByMatrix ? 2 : 1, kOwn = kOwnGroups * kOwnRows;
  static constexpr u32 kTermWords = ternary::grouped_term_words(kRows);
  static constexpr u32 kRowsAtOnce = __CUDA_ARCH__ >= 610 ? kRows : 1;
  static constexpr u32 kResults = (kRows * kTileRows + 31) / 32;  // of a lane of the adding warp
  static constexpr u32 kNone = ~0u;

  const TernaryGroupedParams& p;
  const u32 lane = thread_index() % 32, warp = thread_index() / 32;
  const u32 first_row_tile = block_index() % p.row_blocks;
  const u32 first_row = block_index() / p.row_blocks * kRows;
  const u32 pairs = (p.col_tiles + 1) / 2;  // of a row tile
  const u32 all_pairs = (p.row_tiles - first_row_tile + p.row_blocks - 1) / p.row_blocks * pairs;
  const u32 steps = (all_pairs + kWarps - 1) / kWarps;
  const u32 row_words = p.chunk_tiles * 32;
  const u32 chunk_pairs = p.chunk_tiles / 2, chunk_groups = chunk_pairs * kGroups;
  // In shared memory: codes, their sums a group with the other sign, the terms of two steps.
  int* const code_sums = reinterpret_cast<int*>(shared_words + kRows * row_words);
  float* const terms = reinterpret_cast<float*>(code_sums + kRows * chunk_groups);
  const u32 own_row = lane / 4 + (kByMatrix ? 0 : lane % 2 * 8);
  const u32 own_group = kByMatrix ? lane % 4 * 2 % kGroups : lane / 2 % 2 * kOwnGroups % kGroups;

  struct Held {
    Words4 tiles[2];
    float scales[kOwn];
    u32 pair;
  };
  // The warp's next pair, and where its row tile begins.
  struct Next {
    u32 pair, row_tile;
    const char* weights;
    const float* scales;
  };

  GPUREADY_DEVICE void fetch(Next& next, Held& to) const {
    while (next.pair >= pairs) {
      next.pair -= pairs;
      next.row_tile += p.row_blocks;
      next.weights += static_cast<u64>(p.row_blocks) * p.col_tiles * kTileBytes;
      next.scales += static_cast<u64>(p.row_blocks) * p.groups * kTileRows;
    }
    const u32 tile = next.pair * 2, group = next.pair * kGroups + own_group;
    to.pair = next.row_tile < p.row_tiles ? next.pair : kNone;
    if (to.pair != kNone) {
      const char* const weights = next.weights + static_cast<u64>(tile) * kTileBytes;
      const float* const scales = next.scales + static_cast<u64>(group) * kTileRows;
      to.tiles[0] = load_weights(weights);
      to.tiles[1] =
          tile + 1 < p.col_tiles ? load_weights(weights + kTileBytes) : Words4{0, 0, 0, 0};
#pragma unroll
      for (u32 i = 0; i < kOwnGroups; ++i) {
        const bool there = group + i < p.groups;  // else its term is zero
#pragma unroll
        for (u32 j = 0; j < kOwnRows; ++j)
          to.scales[i * kOwnRows + j] = there ? scales[i * kTileRows + j * 8] : 0;
      }
    }
    next.pair += kWarps;
  }

  GPUREADY_DEVICE void fill(u32 first_tile) const {
    if (first_tile != 0) named_sync<1, kThreads>();
#pragma unroll 1
    for (u32 m = 0; m < kRows; ++m)
      for (u32 tile = warp; tile < p.chunk_tiles; tile += kWarps) {
        const bool there = first_row + m < p.activation_rows && first_tile + tile < p.col_tiles;
        copy_word(shared_words + m * row_words + tile * 32 + place_in_tile(lane),
                  code_word(p, there ? first_row + m : 0,
                            (there ? first_tile + tile : 0) * kTileCols + lane * 4),
                  there);
      }
    await_copies();
    named_sync<1, kThreads>();
    // A lane sums a piece, from a word on that lies in a bank of its own.
#pragma unroll 1
    for (u32 i = thread_index(); i < kRows * p.chunk_tiles * kPieces; i += kThreads) {
      const u32* const y = shared_words + i / kPieces * 32 + i % kPieces;
      int sum = 0;
#pragma unroll
      for (u32 word = 0; word < 8; ++word)
        sum = dot4(0x01010101u, y[(word + i / kPieces) % 8 * 4], sum);
#pragma unroll
      for (u32 mask = 1; mask < kGroupPieces; mask *= 2)
        sum += static_cast<int>(shuffle_xor(static_cast<u32>(sum), mask));
      if (i % kGroupPieces == 0) code_sums[i / kGroupPieces] = -sum;
    }
    named_sync<1, kThreads>();
  }

#if __CUDA_ARCH__ >= 800
  // Adds the lane's products to `own`, by matrix instructions: a group's activations fill a column
  // of the B operand for its own pieces, and again each kGroups columns further on.
  GPUREADY_DEVICE void multiply_matrix(const Held& from, const u32* y, int (&own)[kOwn]) const {
    constexpr u32 kWide = kGroupPieces < kPieces ? kGroupPieces : kPieces;
    constexpr u32 kLoads = kGroupPieces / kWide;
    typedef u32 Words __attribute__((ext_vector_type(kWide)));
    const u32 group = lane / 4 % kGroups, piece = group * kGroupPieces;
    Words first[kLoads], second[kLoads];
#pragma unroll
    for (u32 i = 0; i < kLoads; ++i) {
      const u32* at = y + (piece / kPieces + i) * 32 + lane % 4 * 8 + piece % kPieces;
      first[i] = *reinterpret_cast<const Words*>(at);
      second[i] = *reinterpret_cast<const Words*>(at + 4);
    }
    int sums[kChains][4] = {};
#pragma unroll
    for (u32 i = 0; i < kOwn; ++i) sums[0][i / 2 + i % 2 * 2] = i % 2 == 0 ? own[i] : own[i] * 4;
#pragma unroll
    for (u32 j = 0; j < 2 * kPieces; ++j) {
      const bool mine = group == j / kGroupPieces;
      const u32 k = j % kGroupPieces;
      multiply_word(sums[j / kPieces % kChains], from.tiles[j / kPieces][j % kPieces],
                    mine ? first[k / kWide][k % kWide] : 0,
                    mine ? second[k / kWide][k % kWide] : 0);
    }
#pragma unroll
    for (u32 i = 0; i < kOwn; ++i) {
      int sum = 0;
#pragma unroll
      for (u32 c = 0; c < kChains; ++c) sum += sums[c][i / 2 + i % 2 * 2];
      own[i] = i % 2 == 0 ? sum : sum >> 2;
    }
  }
#endif

  // The same by dp4a. First sums of rows g and g + 8 of each group, of this lane's columns.
  GPUREADY_DEVICE void multiply_dot(const Held& from, const u32* y, int (&own)[kOwn]) const {
    int sums[2 * kGroups], parts[4] = {};
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
      const Words4* words = reinterpret_cast<const Words4*>(y + i * 32 + lane % 4 * 8);
      const Words4 first = words[0], second = words[1];
#pragma unroll
      for (u32 j = 0; j < kPieces; ++j) {
        // Fields are masked but never shifted: field f counts 4^f times.
        const u32 w = from.tiles[i][j];
        parts[0] = dot4(w & 0x03030303u, first[j], parts[0]);
        parts[1] = dot4(w & 0x0C0C0C0Cu, first[j], parts[1]);
        parts[2] = dot4(w & 0x30303030u, second[j], parts[2]);
        parts[3] = dot4(w & 0xC0C0C0C0u, second[j], parts[3]);
        const u32 piece = i * kPieces + j;
        if ((piece + 1) % kGroupPieces != 0) continue;
        sums[piece / kGroupPieces * 2] = parts[0] + (parts[2] >> 4);
        sums[piece / kGroupPieces * 2 + 1] = (parts[1] >> 2) + (parts[3] >> 6);
        parts[0] = parts[1] = parts[2] = parts[3] = 0;
      }
    }
    // Sums of a quad, each at one lane, by as few exchanges as there are lanes to share them.
    const bool odd = lane % 2 != 0, upper = lane / 2 % 2 != 0;
    int half[kGroups];
#pragma unroll
    for (u32 g = 0; g < kGroups; ++g) half[g] = exchanged(odd, sums[2 * g], sums[2 * g + 1], 1);
#pragma unroll
    for (u32 i = 0; i < kOwn; ++i)
      own[i] += kGroups > 1 ? exchanged(upper, half[i], half[kGroups - kOwn + i], 2)
                            : exchanged(false, half[0], half[0], 2);
  }

  // The lanes that `mask` tells apart keep `a`, or, where `second`, `b`; each gives the other away.
  static GPUREADY_DEVICE int exchanged(bool second, int a, int b, u32 mask) {
    const int kept = second ? b : a, given = second ? a : b;
    return kept + static_cast<int>(shuffle_xor(static_cast<u32>(given), mask));
  }

  // `first_pair`: where the codes in shared memory begin.
  GPUREADY_DEVICE void take(u32 step, u32 parity, u32 first_pair, const Held& now) const {
    if (step >= 2) step_sync<kEmptied>(parity);
    if (now.pair == kNone) return;
    const u32 pair = now.pair - first_pair;
#pragma unroll kRowsAtOnce
    for (u32 m = 0; m < kRows; ++m) {
      int own[kOwn];
#pragma unroll
      for (u32 i = 0; i < kOwn; ++i)
        own[i] = code_sums[m * chunk_groups + pair * kGroups + own_group + i / kOwnRows];
      const u32* const y = shared_words + m * row_words + pair * 64;
#if __CUDA_ARCH__ >= 800
      if constexpr (kByMatrix)
        multiply_matrix(now, y, own);
      else
#endif
        multiply_dot(now, y, own);
      if (kByMatrix && lane % 4 * 2 >= kGroups) continue;  // another lane's, too
      float* const to =
          terms + own_row +
          ((parity * kRows + m) * kStepGroups + warp * kGroups + own_group) * kTermWords;
#pragma unroll
      for (u32 i = 0; i < kOwn; ++i)
        to[i / kOwnRows * kTermWords + i % kOwnRows * 8] =
            multiply(to_float(own[i]), now.scales[i]);
    }
  }

  GPUREADY_DEVICE void produce() const {
    Next next{warp, first_row_tile,
              reinterpret_cast<const char*>(p.tiles_address) +
                  static_cast<u64>(first_row_tile) * p.col_tiles * kTileBytes + lane * 16,
              reinterpret_cast<const float*>(p.group_scales_address) +
                  static_cast<u64>(first_row_tile) * p.groups * kTileRows + own_row};
    Held held[kSteps];
#pragma unroll
    for (u32 i = 0; i < kSteps; ++i) fetch(next, held[i]);
    await_previous();
    fill(0);
    u32 first_pair = 0;
    constexpr u32 kTurn = kSteps % 2 == 0 ? kSteps : 2 * kSteps;
#pragma unroll 1
    for (u32 turn = 0; turn < steps; turn += kTurn)
#pragma unroll
      for (u32 i = 0; i < kTurn; ++i) {
        const u32 step = turn + i;
        if (step >= steps) return;
        // A block that has not all columns has one row tile.
        if (chunk_pairs < pairs && step * kWarps - first_pair == chunk_pairs)
          fill((first_pair += chunk_pairs) * 2);
        take(step, i % 2, first_pair, held[i % kSteps]);
        fetch(next, held[i % kSteps]);
        step_arrive<kFilled>(i);
      }
  }

  // Adds up a row tile. A lane's results are all of one row of it.
  struct Adding {
    float values[kResults] = {}, units[kResults];  // units: the steps of the activations
    float scale;                                   // of the row
    const float* own[kResults];
    u32 pair = 0, row_tile;
  };

  GPUREADY_DEVICE void fetch_scale(Adding& sum) const {
    const u32 row = sum.row_tile * kTileRows + lane % kTileRows;
    sum.scale = reinterpret_cast<const float*>(p.scales_address)[row < p.weight_rows ? row : 0];
  }

  GPUREADY_DEVICE void add_terms(Adding& sum, u32 at, u32 count) const {
    constexpr u32 kTogether = 16 / kResults;  // loads
#pragma unroll 1
    for (; count >= kTogether; count -= kTogether, at += kTogether * kTermWords) {
      float some[kTogether][kResults];
#pragma unroll
      for (u32 g = 0; g < kTogether; ++g)
#pragma unroll
        for (u32 i = 0; i < kResults; ++i) some[g][i] = sum.own[i][at + g * kTermWords];
#pragma unroll
      for (u32 g = 0; g < kTogether; ++g)
#pragma unroll
        for (u32 i = 0; i < kResults; ++i) sum.values[i] = add(sum.values[i], some[g][i]);
    }
#pragma unroll 1
    for (; count > 0; --count, at += kTermWords)
#pragma unroll
      for (u32 i = 0; i < kResults; ++i) sum.values[i] = add(sum.values[i], sum.own[i][at]);
  }

  GPUREADY_DEVICE void end_row_tile(Adding& sum) const {
    asm volatile("" : "+f"(sum.scale));  // a product with it, made earlier, would wait for memory
#pragma unroll
    for (u32 i = 0; i < kResults; ++i) {
      const u32 result = lane + 32 * i, m = first_row + result / kTileRows;
      const u32 row = sum.row_tile * kTileRows + result % kTileRows;
      if (result < kRows * kTileRows && row < p.weight_rows && m < p.activation_rows)
        store_value(p.out_address, p.output_type, p.addends,
                    static_cast<u64>(m) * p.weight_rows + row, row,
                    multiply(sum.values[i], multiply(sum.units[i], sum.scale)));
      sum.values[i] = 0;
    }
    sum.pair = 0;
    sum.row_tile += p.row_blocks;
    fetch_scale(sum);
  }

  GPUREADY_DEVICE void add_up() const {
    if (lane == 0) {
      const char* const weights = reinterpret_cast<const char*>(p.tiles_address) +
                                  static_cast<u64>(first_row_tile) * p.col_tiles * kTileBytes;
      prefetch(weights + kSteps * kWarps * 2 * kTileBytes, weights + p.col_tiles * kTileBytes,
               kPrefetchBytes);
    }
    Adding sum;
    sum.row_tile = first_row_tile;
    fetch_scale(sum);
    await_previous();
#pragma unroll
    for (u32 i = 0; i < kResults; ++i) {
      const u32 result = lane + 32 * i < kRows * kTileRows ? lane + 32 * i : 0;
      const u32 m = first_row + result / kTileRows;
      sum.own[i] = terms + result / kTileRows * kStepGroups * kTermWords + result % kTileRows;
      sum.units[i] = m < p.activation_rows
                         ? reinterpret_cast<const GpuActivationRow*>(p.rows_address)[m].step
                         : 0;
    }
#pragma unroll 1
    for (u32 step = 0; step < steps; ++step) {
      step_sync<kFilled>(step);
      u32 at = step % 2 * kRows * kStepGroups * kTermWords;
      u32 left = all_pairs - step * kWarps;
      if (left > kWarps) left = kWarps;
#pragma unroll 1
      while (left > 0) {
        const u32 rest = pairs - sum.pair, run = left < rest ? left : rest;
        add_terms(sum, at, run * kGroups);
        left -= run, sum.pair += run, at += run * kGroups * kTermWords;
        if (run == rest) end_row_tile(sum);
      }
      if (step + 2 < steps) step_arrive<kEmptied>(step);
    }
  }

  GPUREADY_DEVICE void run() const {
    let_next_start();
    if (warp < kWarps)
      produce();
    else
      add_up();
  }
};

template <u32 kRows>
GPUREADY_DEVICE void multiply_few(const TernaryGroupedParams& p) {
  if (p.group == 32)
    FewRows<kRows, 1>{p}.run();
  else if (p.group == 64)
    FewRows<kRows, 2>{p}.run();
  else if (p.group == 128)
    FewRows<kRows, 4>{p}.run();
  else
    FewRows<kRows, 8>{p}.run();
}

#if __CUDA_ARCH__ == 800  // newer ones take this image, too
// 16 rows by matrix instructions, as MatrixProducts has them.
struct GroupMatrix {
  static constexpr u32 kRows = 16, kPadding = ternary::kGemvMatrixPaddingBytes / 4;
  Words4 first[2], second[2];
  int sums[2][4] = {};

  static GPUREADY_DEVICE const u32* own_row(const u32* y, u32 row_words) {
    return y + thread_index() % 32 / 4 * row_words;
  }
  GPUREADY_DEVICE void load(const u32* y, u32 row_words) {
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
      const Words4* words = reinterpret_cast<const Words4*>(y + 8 * i * row_words);
      first[i] = words[0], second[i] = words[1];
    }
  }
  GPUREADY_DEVICE void add_piece(u32 w, u32 j) {
#pragma unroll
    for (u32 i = 0; i < 2; ++i) multiply_word(sums[i], w, first[i][j], second[i][j]);
  }
  template <class Give>
  GPUREADY_DEVICE void end_group(u32 lane, Give give) {
#pragma unroll
    for (u32 i = 0; i < 2; ++i)
#pragma unroll
      for (u32 c = 0; c < 4; ++c) {
        give(8 * i + lane % 4 * 2 + c % 2, lane / 4 + c / 2 * 8,
             c < 2 ? sums[i][c] : sums[i][c] >> 2);
        sums[i][c] = 0;
      }
  }
};

// Pieces of 32 columns that share a scale: kOfTile of a tile's four; `tiles` that make a group.
template <u32 kOfTile>
GPUREADY_DEVICE void multiply_groups(const TernaryGroupedParams& p, u32 tiles) {
  using Sums = GroupMatrix;
  constexpr u32 kRows = Sums::kRows;
  const u32 lane = thread_index() % 32, warp = thread_index() / 32;
  const u32 row_tile = block_index() % p.row_tiles;
  const u32 first_row = block_index() / p.row_tiles * kRows;
  const u32 row_words = p.chunk_tiles * 32 + Sums::kPadding;
  const u32 group_pieces = kOfTile * tiles;
  // In shared memory: codes, their sums a piece, the groups' terms and their scales.
  int* piece_sums = reinterpret_cast<int*>(shared_words + kRows * row_words);
  float* terms = reinterpret_cast<float*>(piece_sums + kRows * p.chunk_tiles * kPieces);
  const char* weights = reinterpret_cast<const char*>(p.tiles_address) +
                        static_cast<u64>(row_tile) * p.col_tiles * kTileBytes + lane * 16;
  const u32 chunk_groups = p.chunk_tiles * kPieces / group_pieces;
  float* scales = terms + kRows * chunk_groups * kTileRows;
  const u64 all_scales =
      p.group_scales_address + static_cast<u64>(row_tile) * p.groups * kTileRows * 4;
  const u32 own_m = thread_index() / kTileRows, own_r = thread_index() % kTileRows;
  float value = 0;
  for (u32 chunk = 0; chunk < p.col_tiles; chunk += p.chunk_tiles) {
    const u32 rest = p.col_tiles - chunk;
    const u32 count = rest < p.chunk_tiles ? rest : p.chunk_tiles;
    const u32 first_group = chunk * kPieces / group_pieces;
    const u32 left = p.groups - first_group;
    const u32 here = left < chunk_groups ? left : chunk_groups;
    // A warp's next weights are on their way while it waits for the block or multiplies.
    Words4 next[2] = {};
    const auto fetch = [&](u32 first) {
#pragma unroll
      for (u32 i = 0; i < 2; ++i)
        if (i < tiles && first + i < count)
          next[i] = load_weights(weights + static_cast<u64>(chunk + first + i) * kTileBytes);
    };
    fetch(warp * tiles);
    block_barrier();
    for (u32 i = thread_index(); i < here * kTileRows; i += kThreads)
      copy_word(reinterpret_cast<u32*>(scales) + i,
                all_scales + (static_cast<u64>(first_group) * kTileRows + i) * 4, true);
#pragma unroll 1
    for (u32 m = 0; m < kRows; ++m) {
      const bool there = first_row + m < p.activation_rows;
      for (u32 tile = warp; tile < count; tile += kWarps)
        copy_word(shared_words + m * row_words + tile * 32 + place_in_tile(lane),
                  code_word(p, there ? first_row + m : 0, (chunk + tile) * kTileCols + lane * 4),
                  there);
    }
    await_copies();
    block_barrier();
    for (u32 i = thread_index(); i < kRows * count * kPieces; i += kThreads) {
      const u32 m = i / (count * kPieces), piece = i % (count * kPieces);
      const u32* y = shared_words + m * row_words + piece / kPieces * 32 + piece % kPieces;
      int sum = 0;
#pragma unroll
      for (u32 word = 0; word < 8; ++word) sum = dot4(0x01010101u, y[word * 4], sum);
      piece_sums[m * p.chunk_tiles * kPieces + piece] = sum;
    }
    block_barrier();
    for (u32 first = warp * tiles; first < count; first += kWarps * tiles) {
      Sums sums;
      const auto end = [&](u32 group) {
        sums.end_group(lane, [&](u32 m, u32 r, int sum) {
          if (group >= here) return;
          const int* own = piece_sums + m * p.chunk_tiles * kPieces + group * group_pieces;
          for (u32 i = 0; i < group_pieces; ++i)
            if (group * group_pieces + i < count * kPieces) sum -= own[i];
          const float scale = scales[group * kTileRows + r];
          terms[(m * chunk_groups + group) * kTileRows + r] = multiply(to_float(sum), scale);
        });
      };
      const Words4 held[2] = {next[0], next[1]};
      fetch(first + kWarps * tiles);
#pragma unroll
      for (u32 i = 0; i < 2; ++i) {
        const u32 tile = first + i;
        if (i >= tiles || tile >= count) break;
        const Words4 w = held[i];
        sums.load(Sums::own_row(shared_words + tile * 32 + lane % 4 * 8, row_words), row_words);
#pragma unroll
        for (u32 j = 0; j < kPieces; ++j) {
          sums.add_piece(w[j], j);
          if ((j + 1) % kOfTile == 0 && tiles == 1) end((tile * kPieces + j) / group_pieces);
        }
      }
      if (tiles != 1) end(first / tiles);
    }
    block_barrier();
    if (own_m < kRows) {
      const float* own = terms + own_m * chunk_groups * kTileRows + own_r;
      for (u32 group = 0; group < here; ++group) value = add(value, own[group * kTileRows]);
    }
  }
  const u32 row = row_tile * kTileRows + own_r;
  if (own_m >= kRows || row >= p.weight_rows || first_row + own_m >= p.activation_rows) return;
  const float step =
      reinterpret_cast<const GpuActivationRow*>(p.rows_address)[first_row + own_m].step;
  const float scale = reinterpret_cast<const float*>(p.scales_address)[row];
  const u64 at = static_cast<u64>(first_row + own_m) * p.weight_rows + row;
  store_value(p.out_address, p.output_type, p.addends, at, row,
              multiply(value, multiply(step, scale)));
}

#endif

}  // namespace

GPUREADY_KERNEL(288, 3) void gpuready_ternary_grouped_1(TernaryGroupedParams p) {
  multiply_few<1>(p);
}
GPUREADY_KERNEL(288, 2) void gpuready_ternary_grouped_4(TernaryGroupedParams p) {
  multiply_few<4>(p);
}
#if __CUDA_ARCH__ == 800
GPUREADY_KERNEL(256, 2) void gpuready_ternary_grouped_16(TernaryGroupedParams p) {
  if (p.group == 32)
    multiply_groups<1>(p, 1);
  else if (p.group == 64)
    multiply_groups<2>(p, 1);
  else
    multiply_groups<4>(p, p.group / kTileCols);
}
#endif

}  // namespace gpuready::device
