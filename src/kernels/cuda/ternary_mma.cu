// Ternary matrix products by mma.sync (sm_80 and newer): a block is a tile of 128 features by 128
// tokens; activations come through a ring of stages by cp.async, weights from global memory into
// registers, a step ahead, where they are decoded.
#include "kernels/cuda/ternary_gemm_device.cuh"

namespace gpuready::device {
namespace {

extern __attribute__((shared)) __attribute__((aligned(128))) unsigned char shared_memory[];

inline constexpr u32 kWarpColumns = 8;  // of 8 tokens
inline constexpr u32 kStageBytes = kMmaTokens * kActivationTileCols;

GPUREADY_DEVICE void multiply(u32* d, const u32 (&a)[4], u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

GPUREADY_DEVICE void copy_stage(u32 stage, u64 source) {
#pragma unroll
  for (u32 i = 0; i < kStageBytes / 16; i += kMmaThreads) {
    const u32 at = (i + thread_index()) * 16;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(stage + at), "l"(source + at)
                 : "memory");
  }
}

GPUREADY_DEVICE void run(const GemmParams& p) {
  const u32 thread = thread_index(), lane = thread % 32, warp = thread / 32;
  const GemmTile tile = gemm_tile(p.token_tiles, p.feature_tiles, block_index());
  const u32 feature0 = tile.feature * kMmaFeatures + warp / 2 * 32;
  const u32 token0 = tile.token * kMmaTokens + warp % 2 * 64;
  const u32 stages = shared_address(shared_memory);
  u64 source = p.activations + static_cast<u64>(tile.token) * p.k_tiles * kActivationTileBytes;

  // Rows of weights beyond the last are read as the last, and stored nowhere.
  const u32 last_row_tile = (p.features + 15) / 16 - 1, row_tile = feature0 / 16;
  u64 weights =
      p.weights + lane * 16 +
      static_cast<u64>(row_tile < last_row_tile ? row_tile : last_row_tile) * p.k_tiles * 512;
  const u32 other = row_tile < last_row_tile ? p.k_tiles * 512 : 0;

#pragma unroll
  for (u32 s = 0; s < kMmaStages - 1; ++s) {
    if (s < p.k_tiles) copy_stage(stages + s * kStageBytes, source);
    source += kActivationTileBytes;
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  Words4 next[2] = {load_constant_4(weights), load_constant_4(weights + other)};

  // ldmatrix: lanes 8 i to 8 i + 7 have the rows of matrix i; two groups of 8 tokens, each with its
  // two 16-byte pieces of a slice of 32 columns (slice j: the address with 2 j * 16 flipped).
  const u32 matrix_row = warp % 2 * 64 + lane / 16 * 8 + lane % 8;
  const u32 lane_pieces = stages + matrix_row * 128 + (lane / 8 % 2 ^ matrix_row % 8) * 16;

  u32 sums[2][4 * kWarpColumns] = {};
  for (u32 k = 0; k < p.k_tiles; ++k) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kMmaStages - 2) : "memory");
    __syncthreads();
    if (const u32 ahead = k + kMmaStages - 1; ahead < p.k_tiles)
      copy_stage(stages + ahead % kMmaStages * kStageBytes, source);
    source += kActivationTileBytes;
    asm volatile("cp.async.commit_group;" ::: "memory");
    weights += 512;
    u32 words[2][4];
#pragma unroll
    for (u32 h = 0; h < 2; ++h) {
      words[h][0] = next[h].x;
      words[h][1] = next[h].y;
      words[h][2] = next[h].z;
      words[h][3] = next[h].w;
      if (k + 1 < p.k_tiles) next[h] = load_constant_4(weights + h * other);
    }
    const u32 stage = lane_pieces + k % kMmaStages * kStageBytes;
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
      u32 a[2][4];
      decode(words[0][j], a[0]);
      decode(words[1][j], a[1]);
#pragma unroll
      for (u32 i = 0; i < kWarpColumns; i += 2) {
        u32 b[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                     : "r"((stage ^ 2 * j * 16) + i * 8 * 128)
                     : "memory");
#pragma unroll
        for (u32 h = 0; h < 2; ++h) {
          multiply(&sums[h][4 * i], a[h], b[0], b[1]);
          multiply(&sums[h][4 * i + 4], a[h], b[2], b[3]);
        }
      }
    }
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  Epilogue<2, kWarpColumns> epilogue{p, stages + warp * kScratchBytes, lane, token0, feature0};
  epilogue.fetch();
  epilogue.store(sums);
}

}  // namespace
}  // namespace gpuready::device

GPUREADY_KERNEL(gpuready::ternary::kMmaThreads, 2)
void gpuready_ternary_mma(gpuready::ternary::GemmParams p) { gpuready::device::run(p); }
