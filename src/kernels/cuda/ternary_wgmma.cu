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

// A stage: activations, then the weights' row tiles.
template <u32 kFeatures, u32 kTokens>
struct Ring {
  static constexpr u32 kStages = wgmma_stages(kFeatures, kTokens);
  static constexpr u32 kStageBytes = wgmma_stage_bytes(kFeatures, kTokens);
  static constexpr u32 kActivationBytes = kTokens * kActivationTileCols;
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

// Bulk copies are issued one lane after the other, about a hundred cycles each: one or two for the
// activations, which are contiguous, but none for the 8 or 16 row tiles of weights.
template <u32 kFeatures, u32 kTokens>
GPUREADY_DEVICE void produce(const GemmParams& p, u32 base) {
  using Stages = Ring<kFeatures, kTokens>;
  const u32 thread = thread_index() - kConsumers, lane = thread % 32, warp = thread / 32;
  const u32 last_row_tile = (p.features + 15) / 16 - 1;
  constexpr u32 kRowTiles = kFeatures / 16, kCopies = kRowTiles / kProducerWarps;
  u64 weights[kCopies];
  const auto copy_weights = [&](const Stages& ring) {
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
    if (!waited) {
      const u32 steps = piece.k_end - piece.k_begin;
      for (Stages ahead{base}; early < Stages::kStages && early < steps; ++early, ahead.advance())
        copy_weights(ahead);
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
        copy_weights(ring);
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
  using Stages = Ring<kFeatures, kTokens>;
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

template <u32 kFeatures, u32 kTokens>
GPUREADY_DEVICE void run(const GemmParams& p) {
  const u32 base = (shared_address(shared_memory) + 1023) & ~1023u;
  if (thread_index() == 0) {
    Ring<kFeatures, kTokens> ring{base};
    for (; ring.index < Ring<kFeatures, kTokens>::kStages; ++ring.index) {
      barrier_init(ring.full(), 1 + kProducerWarps * 32);
      barrier_init(ring.empty(), kConsumerWarps);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  let_next_start();
  // For large tiles, registers go from the warp group that copies to those that multiply.
  constexpr bool kLarge = kFeatures * kTokens > 128 * 128;
  if (thread_index() >= kConsumers) {
    if constexpr (kLarge) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    produce<kFeatures, kTokens>(p, base);
  } else {
    if constexpr (kLarge) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    await_previous();
    consume<kFeatures, kTokens>(p, base);
  }
}

}  // namespace
}  // namespace gpuready::device

// Registers are dealt out as if there were this many threads: with fewer of them a block can begin
// while those of the kernel before it are still there.
#define GPUREADY_TERNARY_WGMMA(features, tokens, threads)                               \
  GPUREADY_KERNEL(threads, 1)                                                           \
  void gpuready_ternary_wgmma_##features##x##tokens(gpuready::ternary::GemmParams p) {  \
    gpuready::device::run<features, tokens>(p);                                         \
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
