// Ternary matrix products on Hopper (sm_90a): wgmma with the weights, decoded, in registers and the
// activations in shared memory. A tile is 256 features by 32, 64 or 128 tokens, or 128 by 128 or
// 256; two warp groups multiply half of the features each while a third copies a ring of stages
// ahead. A warp has features next to each other: two of the 16-row tiles in which weights are kept,
// or one.
#include "kernels/ternary_gemm_device.cuh"

namespace gpuready::device {
namespace {

extern __attribute__((shared)) __attribute__((aligned(1024))) unsigned char shared_memory[];

inline constexpr u32 kConsumers = 256, kConsumerWarps = 8, kProducerWarps = 4;
// Slices whose multiplications may be under way while the next one is decoded, of the 4 in a stage.
inline constexpr u32 kInFlight = 3;

// ---- wgmma --------------------------------------------------------------------------------------

// Ten operands of an asm statement: their places in its text, and the registers behind them.
#define GPUREADY_TEN(t)                                                                            \
  "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t \
  "9, "
#define GPUREADY_EIGHT(d, i)                                                                  \
  "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), \
      "+r"(d[i + 6]), "+r"(d[i + 7])
#define GPUREADY_SIXTEEN(d, i) GPUREADY_EIGHT(d, i), GPUREADY_EIGHT(d, i + 8)
#define GPUREADY_THIRTY_TWO(d, i) GPUREADY_SIXTEEN(d, i), GPUREADY_SIXTEEN(d, i + 16)
#define GPUREADY_SIXTY_FOUR(d, i) GPUREADY_THIRTY_TWO(d, i), GPUREADY_THIRTY_TWO(d, i + 32)

// D = A B (+ D when `add`): 64 features by kTokens tokens, 32 columns deep.
template <u32 kTokens>
struct Multiply;
#define GPUREADY_MULTIPLY(tokens, places, registers, a0, a1, a2, a3, descriptor, scale)          \
  template <>                                                                                    \
  struct Multiply<tokens> {                                                                      \
    static GPUREADY_DEVICE void issue(u32 (&d)[tokens / 2], const u32 (&a)[4], u64 b, u32 add) { \
      asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #scale                               \
                   ", 0;\n"                                                                      \
                   "wgmma.mma_async.sync.aligned.m64n" #tokens "k32.s32.s8.s8 {" places          \
                   "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #descriptor ", add;\n}"      \
                   : registers(d, 0)                                                             \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));              \
    }                                                                                            \
    /* All of the accumulators are there: nothing that reads them may go before this. */         \
    static GPUREADY_DEVICE void settle(u32 (&d)[tokens / 2]) {                                   \
      asm volatile("" : registers(d, 0)::"memory");                                              \
    }                                                                                            \
  }
GPUREADY_MULTIPLY(128,
                  GPUREADY_TEN() GPUREADY_TEN(1) GPUREADY_TEN(2) GPUREADY_TEN(3) GPUREADY_TEN(4)
                      GPUREADY_TEN(5) "%60, %61, %62, %63",
                  GPUREADY_SIXTY_FOUR, 64, 65, 66, 67, 68, 69);
GPUREADY_MULTIPLY(64, GPUREADY_TEN() GPUREADY_TEN(1) GPUREADY_TEN(2) "%30, %31",
                  GPUREADY_THIRTY_TWO, 32, 33, 34, 35, 36, 37);
GPUREADY_MULTIPLY(32, GPUREADY_TEN() "%10, %11, %12, %13, %14, %15", GPUREADY_SIXTEEN, 16, 17, 18,
                  19, 20, 21);

GPUREADY_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
GPUREADY_DEVICE void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <u32 kLeft>
GPUREADY_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

// The matrix descriptor of PTX's wgmma for a K-major operand: start address, 1024 bytes from one
// group of 8 rows to the next, swizzled over 128 bytes. All in units of 16 bytes.
GPUREADY_DEVICE u64 matrix_descriptor(u32 address) {
  return (address >> 4 & 0x3fff) | u64{1} << 16 | u64{1024 >> 4} << 32 | u64{1} << 62;
}

// ---- Barriers and copies ------------------------------------------------------------------------

GPUREADY_DEVICE void barrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
GPUREADY_DEVICE void barrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
GPUREADY_DEVICE void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
GPUREADY_DEVICE void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
GPUREADY_DEVICE void copy_in(u32 target, u64 source, u32 bytes, u32 barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(target),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

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

// Bulk copies are issued one lane after the other, about a hundred cycles each: one for the
// activations, which are contiguous, but none for the 8 or 16 row tiles of weights.
template <u32 kFeatures, u32 kTokens>
GPUREADY_DEVICE void produce(const GemmParams& p, u32 base) {
  using Stages = Ring<kFeatures, kTokens>;
  const u32 thread = thread_index() - kConsumers, lane = thread % 32, warp = thread / 32;
  const u32 last_row_tile = (p.features + 15) / 16 - 1;
  constexpr u32 kRowTiles = kFeatures / 16, kCopies = kRowTiles / kProducerWarps;
  Stages ring{base};
  GemmWalk walk(p, block_index());
  GemmPiece piece;
  while (walk.next(piece)) {
    const GemmTile tile = gemm_tile(p.token_tiles, p.feature_tiles, piece.tile);
    const u32 row = tile.token * kTokens;
    u64 activations = p.activations +
                      (static_cast<u64>(row / kActivationTileRows) * p.k_tiles + piece.k_begin) *
                          kActivationTileBytes +
                      row % kActivationTileRows * kActivationTileCols;
    // Rows of weights beyond the last are read as the last, and stored nowhere.
    u64 weights[kCopies];
#pragma unroll
    for (u32 i = 0; i < kCopies; ++i) {
      const u32 row_tile = tile.feature * kRowTiles + warp * kCopies + i;
      weights[i] =
          p.weights + lane * 16 +
          (static_cast<u64>(row_tile < last_row_tile ? row_tile : last_row_tile) * p.k_tiles +
           piece.k_begin) *
              512;
    }
    for (u32 k = piece.k_begin; k < piece.k_end; ++k) {
      barrier_wait(ring.empty(), ring.parity ^ 1);
      if (thread == 0) {
        barrier_expect(ring.full(), Stages::kActivationBytes);
        copy_in(ring.stage(), activations, Stages::kActivationBytes, ring.full());
        activations += kActivationTileBytes;
      }
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
        const Words4 v =
            load_constant_4(part + (h * kTokens / 8 + slice * kColumns + i) * kPartRow);
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
    const GemmTile tile = gemm_tile(p.token_tiles, p.feature_tiles, piece.tile);
    Epilogue<kHalves, kTokens / 8> epilogue{p, Stages::scratch(base) + warp * kScratchBytes, lane,
                                            tile.token * kTokens,
                                            tile.feature * kFeatures + warp * 16 * kHalves};
    const bool whole = piece.k_end - piece.k_begin == p.k_tiles;
    if (whole) epilogue.fetch();
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
  await_previous();
  // Registers go from the warp group that copies to those that multiply.
  if (thread_index() >= kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    produce<kFeatures, kTokens>(p, base);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    consume<kFeatures, kTokens>(p, base);
  }
}

}  // namespace
}  // namespace gpuready::device

#define GPUREADY_TERNARY_WGMMA(features, tokens)                                        \
  GPUREADY_KERNEL(gpuready::ternary::kWgmmaThreads, 1)                                  \
  void gpuready_ternary_wgmma_##features##x##tokens(gpuready::ternary::GemmParams p) {  \
    gpuready::device::run<features, tokens>(p);                                         \
  }                                                                                     \
  GPUREADY_KERNEL(gpuready::ternary::kFinishThreads, 8)                                 \
  void gpuready_ternary_finish_##features##x##tokens(gpuready::ternary::GemmParams p) { \
    gpuready::device::finish<features, tokens>(p);                                      \
  }
GPUREADY_TERNARY_WGMMA(256, 128)
GPUREADY_TERNARY_WGMMA(128, 128)
GPUREADY_TERNARY_WGMMA(256, 64)
GPUREADY_TERNARY_WGMMA(256, 32)
