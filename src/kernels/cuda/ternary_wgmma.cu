// Ternary matrix products on Hopper (sm_90a): wgmma with the weights, decoded, in registers and the
// activations in shared memory. A tile is 256 features by 32, 64 or 128 tokens, or 128 by 96 or
// 128; two warp groups multiply half of the features each while a third copies a ring of stages
// ahead. A warp has features next to each other: two of the 16-row tiles in which weights are kept,
// or one.
#include "kernels/cuda/ternary_gemm_device.cuh"
#include "kernels/cuda/ternary_wgmma.cuh"

namespace gpuready::device {
namespace {

extern __attribute__((shared)) __attribute__((aligned(1024))) unsigned char shared_memory[];

inline constexpr u32 kConsumers = 256, kConsumerWarps = 8, kProducerWarps = 4;
// Slices whose multiplications may be under way while the next one is decoded, of the 4 in a stage.
inline constexpr u32 kInFlight = 3;

// ---- The product --------------------------------------------------------------------------------

// A stage: activations, then the weights' row tiles, then these features' scales of the kGroups
// groups in it (0: a row has one scale).
template <u32 kFeatures, u32 kTokens, u32 kGroups>
struct Ring {
  static constexpr u32 kStages = wgmma_stages(kFeatures, kTokens, kGroups);
  static constexpr u32 kStageBytes = wgmma_stage_bytes(kFeatures, kTokens, kGroups);
  static constexpr u32 kActivationBytes = kTokens * kActivationTileCols;
  static constexpr u32 kScales = kActivationBytes + kFeatures / 16 * 512;
  u32 base, index = 0, parity = 0;

  GPUREADY_DEVICE u32 stage() const { return base + index * kStageBytes; }
  GPUREADY_DEVICE static u32 scratch(u32 base) { return base + kStages * kStageBytes; }
  GPUREADY_DEVICE static u32 barriers(u32 base) {
    return scratch(base) + kConsumerWarps * kScratchBytes;
  }
  GPUREADY_DEVICE u32 full() const { return barriers(base) + 16 * index; }
  GPUREADY_DEVICE u32 empty() const { return full() + 8; }
  GPUREADY_DEVICE void advance() {
    if (++index == kStages) {
      index = 0;
      parity ^= 1;
    }
  }
};

// Copies the scales of a stage: [row tile][group][16], 16 bytes a thread at once.
template <class Stages, u32 kFeatures, u32 kGroups>
struct FeatureScales {
  static constexpr u32 kThreads = kProducerWarps * 32, kRowTiles = kFeatures / 16;
  static constexpr u32 kCopies = kRowTiles * kGroups * 4,
                       kTurns = (kCopies + kThreads - 1) / kThreads;
  const GemmParams& p;
  u32 thread;
  u64 from[kTurns] = {};

  GPUREADY_DEVICE void begin(u32 feature_tile) {
    const u32 last = (p.features + 15) / 16 - 1;
#pragma unroll
    for (u32 i = 0; i < kTurns; ++i) {
      const u32 row_tile = feature_tile * kRowTiles + (i * kThreads + thread) / (4 * kGroups);
      from[i] =
          p.group_scales + static_cast<u64>(row_tile < last ? row_tile : last) * p.groups * 64;
    }
  }
  // Behind the last group all activations are zero.
  GPUREADY_DEVICE void copy(const Stages& ring, u32 k) const {
    const u32 first = p.group > kActivationTileCols ? k / 2 : k * kGroups;
#pragma unroll
    for (u32 i = 0; i < kTurns; ++i) {
      const u32 at = i * kThreads + thread, group = first + at / 4 % kGroups;
      if (at >= kCopies) return;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(ring.stage() +
                                                                     Stages::kScales + at * 16),
                   "l"(from[i] + (group < p.groups ? group : p.groups - 1) * 64 + at % 4 * 16)
                   : "memory");
    }
  }
};
template <class Stages, u32 kFeatures>
struct FeatureScales<Stages, kFeatures, 0> {  // a row has one
  const GemmParams& p;
  u32 thread;
  GPUREADY_DEVICE void begin(u32) {}
  GPUREADY_DEVICE void copy(const Stages&, u32) const {}
};

// Bulk copies are issued one lane after the other, about a hundred cycles each: one or two for the
// activations, which are contiguous, but none for the 8 or 16 row tiles of weights.
template <u32 kFeatures, u32 kTokens, u32 kGroups>
GPUREADY_DEVICE void produce(const GemmParams& p, u32 base) {
  using Stages = Ring<kFeatures, kTokens, kGroups>;
  const u32 thread = thread_index() - kConsumers, lane = thread % 32, warp = thread / 32;
  const u32 last_row_tile = (p.features + 15) / 16 - 1;
  constexpr u32 kRowTiles = kFeatures / 16, kCopies = kRowTiles / kProducerWarps;
  u64 weights[kCopies];
  FeatureScales<Stages, kFeatures, kGroups> scales{p, thread};
  const auto copy_weights = [&](const Stages& ring, u32 k) {
    scales.copy(ring, k);
    const u32 target = ring.stage() + Stages::kActivationBytes + warp * kCopies * 512 + lane * 16;
#pragma unroll
    for (u32 i = 0; i < kCopies; ++i) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target + i * 512),
                   "l"(weights[i])
                   : "memory");
      weights[i] += 512;
    }
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(ring.full())
                 : "memory");
  };
  // Weights of the first stages, which no kernel writes, come while the kernel before this one
  // ends.
  u32 early = 0;
  bool waited = false;
  Stages ring{base};
  GemmWalk walk(p, block_index());
  GemmPiece piece;
  while (walk.next(piece)) {
    const GemmTile tile = gemm_tile(p.token_tiles, p.feature_tiles, piece.tile);
    const ActivationSlice slice = activation_slice(p, kTokens, tile.token * kTokens, piece.k_begin);
    u64 activations = p.activations;
    // Rows of weights beyond the last are read as the last, and stored nowhere.
#pragma unroll
    for (u32 i = 0; i < kCopies; ++i) {
      const u32 row_tile = tile.feature * kRowTiles + warp * kCopies + i;
      weights[i] =
          p.weights + lane * 16 +
          (static_cast<u64>(row_tile < last_row_tile ? row_tile : last_row_tile) * p.k_tiles +
           piece.k_begin) *
              512;
    }
    scales.begin(tile.feature);
    if (!waited) {
      const u32 steps = piece.k_end - piece.k_begin;
      for (Stages ahead{base}; early < Stages::kStages && early < steps; ++early, ahead.advance())
        copy_weights(ahead, piece.k_begin + early);
      await_previous();
      waited = true;
    }
    for (u32 k = piece.k_begin; k < piece.k_end; ++k) {
      barrier_wait(ring.empty(), ring.parity ^ 1);
      if (thread == 0) {
        const u32 bytes = slice.first_rows * kActivationTileCols,
                  next_bytes = slice.next_rows * kActivationTileCols;
        barrier_expect(ring.full(), bytes + next_bytes);
        copy_in(ring.stage(), activations + slice.first, bytes, ring.full());
        if (kActivationTileRows % kTokens != 0 && next_bytes != 0)
          copy_in(ring.stage() + bytes, activations + slice.next, next_bytes, ring.full());
        activations += kActivationTileBytes;
      }
      if (early != 0)
        --early;
      else
        copy_weights(ring, k);
      ring.advance();
    }
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// A part of a split tile, for finish(): 16 bytes of each consumer after each other.
inline constexpr u32 kPartRow = kConsumers * 16;
template <u32 kFeatures, u32 kTokens>
GPUREADY_DEVICE u64 part_address(const GemmParams& p, u32 block, u32 tile, u32 consumer) {
  return p.partials + static_cast<u64>(partial_slot(p, block, tile)) * (kFeatures * kTokens * 4) +
         consumer * 16;
}
template <u32 kFeatures, u32 kTokens>
GPUREADY_DEVICE void store_part(const GemmParams& p, u32 tile,
                                const u32 (&sums)[kFeatures / 128][kTokens / 2]) {
  const u64 own = part_address<kFeatures, kTokens>(p, block_index(), tile, thread_index());
#pragma unroll
  for (u32 h = 0; h < kFeatures / 128; ++h)
#pragma unroll
    for (u32 i = 0; i < kTokens / 2; i += 4)
      store_global_4(own + (h * kTokens / 8 + i / 4) * kPartRow,
                     Words4{sums[h][i], sums[h][i + 1], sums[h][i + 2], sums[h][i + 3]});
}

// Adds up the parts of a split tile, exactly, and turns them into output: a block of two warps for
// 16 tokens of 64 features.
template <u32 kFeatures, u32 kTokens>
GPUREADY_DEVICE void finish(const GemmParams& p) {
  let_next_start();
  await_previous();
  constexpr u32 kHalves = kFeatures / 128, kColumns = 2, kSlices = kTokens / 16;
  const u32 tile_index = block_index() / (4 * kSlices), rest = block_index() % (4 * kSlices);
  const u32 slice = rest / 4, lane = thread_index() % 32;
  const u32 warp = rest % 4 * 2 + thread_index() / 32;
  const u32 first = split_owner(p, tile_index * p.k_tiles);
  const u32 last = split_owner(p, (tile_index + 1) * p.k_tiles - 1);
  if (first == last) return;  // no part: that block had all of it
  const GemmTile tile = gemm_tile(p.token_tiles, p.feature_tiles, tile_index);
  Epilogue<kHalves, kColumns> epilogue{
      p, shared_address(shared_memory) + thread_index() / 32 * kScratchBytes, lane,
      tile.token * kTokens + slice * 16, tile.feature * kFeatures + warp * 16 * kHalves};
  epilogue.fetch();
  u32 sums[kHalves][4 * kColumns] = {};
  for (u32 block = first; block <= last; ++block) {
    const u64 part = part_address<kFeatures, kTokens>(p, block, tile_index, warp * 32 + lane);
#pragma unroll
    for (u32 h = 0; h < kFeatures / 128; ++h)
#pragma unroll
      for (u32 i = 0; i < kColumns; ++i) {
        const Words4 v = load_global_4(part + (h * kTokens / 8 + slice * kColumns + i) * kPartRow);
        sums[h][4 * i] += v.x;
        sums[h][4 * i + 1] += v.y;
        sums[h][4 * i + 2] += v.z;
        sums[h][4 * i + 3] += v.w;
      }
  }
  epilogue.store(sums);
}

template <u32 kFeatures, u32 kTokens>
GPUREADY_DEVICE void consume(const GemmParams& p, u32 base) {
  using Stages = Ring<kFeatures, kTokens, 0>;
  const u32 thread = thread_index(), warp = thread / 32, lane = thread % 32;
  Stages ring{base};
  GemmWalk walk(p, block_index());
  GemmPiece piece;
  constexpr u32 kHalves = kFeatures / 128;
  u32 sums[kHalves][kTokens / 2];
  while (walk.next(piece)) {
    const GemmTile tile = gemm_tile(p.token_tiles, p.feature_tiles, piece.tile);
    // Four warps have features next to each other; so have the two groups of them.
    Epilogue<kHalves, kTokens / 8, 4> epilogue{
        p, Stages::scratch(base) + warp / 4 * 4 * kScratchBytes, thread % 128, tile.token * kTokens,
        tile.feature * kFeatures + warp / 4 * 64 * kHalves};
    const bool whole = piece.k_end - piece.k_begin == p.k_tiles;
    if (whole) epilogue.fetch();
    u32 done = 0;  // the stage before this one, which no multiplication reads any more
    for (u32 k = piece.k_begin; k < piece.k_end; ++k) {
      barrier_wait(ring.full(), ring.parity);
      const u32 stage = ring.stage();
      const u32 own = stage + Stages::kActivationBytes + warp * 512 * kHalves + lane * 16;
      u32 words[kHalves][4];
#pragma unroll
      for (u32 h = 0; h < kHalves; ++h) {
        const Words4 v = load_shared_4(own + h * 512);
        words[h][0] = v.x;
        words[h][1] = v.y;
        words[h][2] = v.z;
        words[h][3] = v.w;
      }
      const u64 activations = matrix_descriptor(stage);
#pragma unroll
      for (u32 j = 0; j < 4; ++j) {
        u32 a[kHalves][4];
#pragma unroll
        for (u32 h = 0; h < kHalves; ++h) decode(words[h][j], a[h]);
        const u32 add = j != 0 || k != piece.k_begin;
        wgmma_fence();
#pragma unroll
        for (u32 h = 0; h < kHalves; ++h)
          Multiply<kTokens>::issue(sums[h], a[h], activations + 2 * j, add);
        wgmma_commit();
        // Its registers of A were those of four slices ago.
        wgmma_wait<kInFlight>();
        if (j + 1 == kInFlight && done != 0 && lane == 0) barrier_arrive(done);
      }
      done = ring.empty();
      ring.advance();
    }
    wgmma_wait<0>();
#pragma unroll
    for (u32 h = 0; h < kHalves; ++h) Multiply<kTokens>::settle(sums[h]);
    if (lane == 0) barrier_arrive(done);
    if (whole)
      epilogue.store(sums);
    else
      store_part<kFeatures, kTokens>(p, piece.tile, sums);
  }
}

// Adds a group's terms: a sum of w * y times its scale, rounded, and added, rounded. The sum is 64
// times as large here and the scale a 64th, exactly (kLeastWgmmaScale).
template <u32 kTokens>
GPUREADY_DEVICE void add_group(float (&values)[kTokens / 2], const u32 (&sums)[kTokens / 2],
                               float low, float high) {
  low *= 1.0f / 64, high *= 1.0f / 64;
#pragma unroll
  for (u32 i = 0; i < kTokens / 2; ++i)
    values[i] =
        add(values[i], multiply(to_float(static_cast<int>(sums[i])), i / 2 % 2 == 0 ? low : high));
}

template <u32 kFeatures, u32 kTokens, u32 kGroups>
GPUREADY_DEVICE void consume_groups(const GemmParams& p, u32 base) {
  using Stages = Ring<kFeatures, kTokens, kGroups>;
  constexpr u32 kHalves = kFeatures / 128, kSlices = 4 / kGroups;  // of 32 columns, of a group
  const u32 thread = thread_index(), warp = thread / 32, lane = thread % 32;
  Stages ring{base};
  GemmWalk walk(p, block_index());
  GemmPiece piece;
  while (walk.next(piece)) {
    const GemmTile tile = gemm_tile(p.token_tiles, p.feature_tiles, piece.tile);
    Epilogue<kHalves, kTokens / 8, 4> epilogue{
        p, Stages::scratch(base) + warp / 4 * 4 * kScratchBytes, thread % 128, tile.token * kTokens,
        tile.feature * kFeatures + warp / 4 * 64 * kHalves};
    epilogue.fetch();
    float values[kHalves][kTokens / 2] = {};
    u32 sums[kHalves][kTokens / 2];
    for (u32 k = 0; k < p.k_tiles; ++k) {
      barrier_wait(ring.full(), ring.parity);
      const u32 stage = ring.stage();
      const u32 own = stage + Stages::kActivationBytes + warp * 512 * kHalves + lane * 16;
      const u32 own_scales = stage + Stages::kScales + warp * 64 * kGroups * kHalves + lane / 4 * 4;
      u32 words[kHalves][4];
#pragma unroll
      for (u32 h = 0; h < kHalves; ++h) {
        const Words4 v = load_shared_4(own + h * 512);
        words[h][0] = v.x;
        words[h][1] = v.y;
        words[h][2] = v.z;
        words[h][3] = v.w;
      }
      const u64 activations = matrix_descriptor(stage);
      // A group of 256 columns is two steps.
      const bool second = p.group > kActivationTileCols && k % 2 != 0;
      const bool ends = p.group <= kActivationTileCols || second || k + 1 == p.k_tiles;
#pragma unroll
      for (u32 j = 0; j < 4; ++j) {
        u32 a[kHalves][4];
#pragma unroll
        for (u32 h = 0; h < kHalves; ++h) decode_signed(words[h][j], a[h]);
        const u32 add = j % kSlices != 0 || second;
        wgmma_fence();
#pragma unroll
        for (u32 h = 0; h < kHalves; ++h)
          Multiply<kTokens>::issue(sums[h], a[h], activations + 2 * j, add);
        wgmma_commit();
        if ((j + 1) % kSlices != 0) {
          wgmma_wait<kInFlight>();
          continue;
        }
        float scales[kHalves][2];
#pragma unroll
        for (u32 h = 0; h < kHalves; ++h)
#pragma unroll
          for (u32 half = 0; half < 2; ++half)
            scales[h][half] =
                float_of(load_shared(own_scales + (h * kGroups + j / kSlices) * 64 + half * 32));
        wgmma_wait<0>();
#pragma unroll
        for (u32 h = 0; h < kHalves; ++h) Multiply<kTokens>::settle(sums[h]);
        if (j == 3 && lane == 0) barrier_arrive(ring.empty());
        if (!ends) continue;
#pragma unroll
        for (u32 h = 0; h < kHalves; ++h)
          add_group<kTokens>(values[h], sums[h], scales[h][0], scales[h][1]);
      }
      ring.advance();
    }
    epilogue.store(values);
  }
}

template <u32 kFeatures, u32 kTokens, u32 kGroups>
GPUREADY_DEVICE void run(const GemmParams& p) {
  using Stages = Ring<kFeatures, kTokens, kGroups>;
  const u32 base = (shared_address(shared_memory) + 1023) & ~1023u;
  if (thread_index() == 0) {
    Stages ring{base};
    for (; ring.index < Stages::kStages; ++ring.index) {
      barrier_init(ring.full(), 1 + kProducerWarps * 32);
      barrier_init(ring.empty(), kConsumerWarps);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  let_next_start();
  // For large tiles, registers go from the warp group that copies to those that multiply.
  constexpr bool kLarge = kFeatures * kTokens * (kGroups == 0 ? 1 : 2) > 128 * 128;
  if (thread_index() >= kConsumers) {
    if constexpr (kLarge) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    produce<kFeatures, kTokens, kGroups>(p, base);
  } else {
    if constexpr (kLarge) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    await_previous();
    if constexpr (kGroups == 0)
      consume<kFeatures, kTokens>(p, base);
    else
      consume_groups<kFeatures, kTokens, kGroups>(p, base);
  }
}

}  // namespace
}  // namespace gpuready::device

// Registers are dealt out as if there were this many threads: with fewer of them a block can begin
// while those of the kernel before it are still there.
#define GPUREADY_TERNARY_WGMMA(features, tokens, threads)                               \
  GPUREADY_KERNEL(threads, 1)                                                           \
  void gpuready_ternary_wgmma_##features##x##tokens(gpuready::ternary::GemmParams p) {  \
    gpuready::device::run<features, tokens, 0>(p);                                      \
  }                                                                                     \
  GPUREADY_KERNEL(gpuready::ternary::kFinishThreads, 8)                                 \
  void gpuready_ternary_finish_##features##x##tokens(gpuready::ternary::GemmParams p) { \
    gpuready::device::finish<features, tokens>(p);                                      \
  }
GPUREADY_TERNARY_WGMMA(256, 128, gpuready::ternary::kWgmmaThreads)
GPUREADY_TERNARY_WGMMA(128, 128, gpuready::ternary::kWgmmaThreads)
GPUREADY_TERNARY_WGMMA(128, 96, 512)
GPUREADY_TERNARY_WGMMA(256, 64, gpuready::ternary::kWgmmaThreads)
GPUREADY_TERNARY_WGMMA(256, 32, gpuready::ternary::kWgmmaThreads)
// By features, tokens, and groups that begin in a step of 128 columns.
#define GPUREADY_TERNARY_WGMMA_GROUPS(features, tokens, groups)                                   \
  GPUREADY_KERNEL(gpuready::ternary::kWgmmaThreads, 1)                                            \
  void gpuready_ternary_wgmma_##features##x##tokens##_##groups(gpuready::ternary::GemmParams p) { \
    gpuready::device::run<features, tokens, groups>(p);                                           \
  }
GPUREADY_TERNARY_WGMMA_GROUPS(128, 128, 4)
GPUREADY_TERNARY_WGMMA_GROUPS(128, 128, 2)
GPUREADY_TERNARY_WGMMA_GROUPS(128, 128, 1)
GPUREADY_TERNARY_WGMMA_GROUPS(256, 32, 4)
GPUREADY_TERNARY_WGMMA_GROUPS(256, 32, 2)
GPUREADY_TERNARY_WGMMA_GROUPS(256, 32, 1)
