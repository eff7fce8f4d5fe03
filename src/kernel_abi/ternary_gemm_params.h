// What the host and the kernels of ternary matrix products tell each other, and the order in which
// a product's tiles are worked off. Plain structs of fixed layout; no header of the host's, for the
// device.
//
// Activations are tiled: 128 rows by 128 columns of int8 in 16 KiB, exactly as they shall lie in
// shared memory, a row in 128 bytes whose 16-byte pieces are swizzled (PTX ISA, "128B swizzle").
// Tiles follow each other along the columns, then along the rows, so that any 8 rows of a tile are
// contiguous and a block copies them as they are.
#pragma once

#include "kernel_abi/ternary_params.h"

namespace gpuready::ternary {

inline constexpr unsigned kActivationTileRows = 128, kActivationTileCols = 128;
inline constexpr unsigned kActivationTileBytes = kActivationTileRows * kActivationTileCols;

constexpr unsigned long long tiled_activation(unsigned row, unsigned col, unsigned k_tiles) {
  const unsigned r = row % kActivationTileRows, c = col % kActivationTileCols;
  const unsigned long long tile =
      static_cast<unsigned long long>(row / kActivationTileRows) * k_tiles +
      col / kActivationTileCols;
  return tile * kActivationTileBytes + r * 128 + ((c / 16) ^ (r % 8)) * 16 + c % 16;
}

enum GemmInput : unsigned { kGemmF32, kGemmF16, kGemmBf16, kGemmInt8 };
enum GemmOutput : unsigned { kGemmOutInt32, kGemmOutF32, kGemmOutBf16, kGemmOutF16 };

// Activations into tiles. Values are quantised as Activations::quantise() does, and give the rows'
// facts and, for the first code_rows of them, row-major codes too; int8 is row-major codes already.
struct GemmTilesParams {
  unsigned long long values;  // [rows][cols]; int8: [rows][stride], 16-byte aligned
  unsigned long long tiles;
  unsigned long long codes;      // [code_rows][stride]; not for int8
  unsigned long long row_facts;  // GpuActivationRow a row; not for int8
  unsigned rows, cols, stride;
  unsigned k_tiles;  // of 128 columns; the last one is padded with zeros
  unsigned code_rows, value_type;
  unsigned warps_a_row;  // that share a row, up to kGemmTilesMostWarps
};
static_assert(sizeof(GemmTilesParams) <= 128);
// 32-bit words of a row that a thread holds between the two passes over it, and the warps that can
// share a row.
inline constexpr unsigned kGemmTilesHeldWords = 40, kGemmTilesMostWarps = 12;
// So few that they hold the row: more would wait for each other.
constexpr unsigned gemm_tiles_warps(const GemmTilesParams& p) {
  const unsigned element_bytes = p.value_type == kGemmF32 ? 4 : p.value_type == kGemmInt8 ? 1 : 2;
  const unsigned held = 32 * kGemmTilesHeldWords * 4 / element_bytes;
  const unsigned warps = (p.k_tiles * kActivationTileCols + held - 1) / held;
  return warps < kGemmTilesMostWarps ? warps : kGemmTilesMostWarps;
}
// Rows of a block: at least four warps, if they are not more for one row.
constexpr unsigned gemm_tiles_rows(unsigned warps_a_row) {
  return warps_a_row < 4 ? 4 / warps_a_row : 1;
}

// Tiles [0, split_tiles) are cut along K: their steps of 128 columns, one tile after the other, are
// dealt evenly to all blocks, `share` each and one more for the first `extra` blocks. Parts
// of tiles are put down, and added up exactly by a kernel of its own. The other tiles are whole:
// block b takes split_tiles + b, + blocks, ...
struct GemmParams {
  unsigned long long weights, activations, out;
  unsigned long long scales, group_scales;  // as in GpuWeightsView
  unsigned long long row_facts;             // GpuActivationRow a row of activations
  unsigned long long partials;              // two tiles a block, of 32-bit sums
  unsigned rows, features, k_tiles;
  unsigned token_tiles, feature_tiles;
  unsigned split_tiles, share, extra;
  unsigned output_type;
  unsigned blocks;
  // Columns that share a scale, and groups of a row; 0: a row has one. No tile is split then, since
  // a result's groups are added in their order.
  unsigned group, groups;
  TernaryAddends addends;
};
static_assert(sizeof(GemmParams) <= 128);

// A part of a tile's steps.
struct GemmPiece {
  unsigned tile = 0, k_begin = 0, k_end = 0;
};

constexpr unsigned split_begin(const GemmParams& p, unsigned block) {
  return block * p.share + (block < p.extra ? block : p.extra);
}
// The block that has this step of the split tiles.
constexpr unsigned split_owner(const GemmParams& p, unsigned step) {
  const unsigned longer = p.extra * (p.share + 1);
  return step < longer ? step / (p.share + 1) : p.extra + (step - longer) / p.share;
}
// Where a block keeps its part of a split tile: of a block's pieces only the first and the last can
// be parts.
constexpr unsigned partial_slot(const GemmParams& p, unsigned block, unsigned tile) {
  return 2 * block + (split_begin(p, block) < tile * p.k_tiles ? 1 : 0);
}

class GemmWalk {
 public:
  constexpr GemmWalk(const GemmParams& p, unsigned block)
      : k_tiles_(p.k_tiles),
        step_(split_begin(p, block)),
        end_(split_begin(p, block + 1)),
        tile_(p.split_tiles + block),
        tiles_(p.token_tiles * p.feature_tiles),
        blocks_(p.blocks) {}
  constexpr bool next(GemmPiece& piece) {
    if (step_ < end_) {
      piece.tile = step_ / k_tiles_;
      piece.k_begin = step_ - piece.tile * k_tiles_;
      piece.k_end = piece.k_begin + (end_ - step_);
      if (piece.k_end > k_tiles_) piece.k_end = k_tiles_;
      step_ += piece.k_end - piece.k_begin;
      return true;
    }
    if (tile_ >= tiles_) return false;
    piece.tile = tile_;
    piece.k_begin = 0;
    piece.k_end = k_tiles_;
    tile_ += blocks_;
    return true;
  }

 private:
  unsigned k_tiles_, step_, end_, tile_, tiles_, blocks_;
};

// Tiles that are worked on at the same time share rows and features, so that both stay in the L2:
// bands of 8 token tiles, feature by feature.
inline constexpr unsigned kGemmBand = 8;
struct GemmTile {
  unsigned token = 0, feature = 0;
};
constexpr GemmTile gemm_tile(unsigned token_tiles, unsigned feature_tiles, unsigned tile) {
  const unsigned band = tile / (kGemmBand * feature_tiles);
  const unsigned rest = tile - band * kGemmBand * feature_tiles;
  const unsigned left = token_tiles - band * kGemmBand;
  const unsigned width = left < kGemmBand ? left : kGemmBand;
  return {band * kGemmBand + rest % width, rest / width};
}

// What a step copies of a tile's activations, in bytes from their start. Where a tile of the
// memory's ends before the tokens do, the rest is the first rows of the one below, if there is one:
// rows beyond the last are stored nowhere, whatever they were multiplied with.
struct ActivationSlice {
  unsigned long long first = 0, next = 0;
  unsigned first_rows = 0, next_rows = 0;
};
constexpr ActivationSlice activation_slice(const GemmParams& p, unsigned tokens, unsigned token0,
                                           unsigned k) {
  const unsigned row_tile = token0 / kActivationTileRows, row = token0 % kActivationTileRows;
  const unsigned long long tile =
      (static_cast<unsigned long long>(row_tile) * p.k_tiles + k) * kActivationTileBytes;
  const unsigned left = kActivationTileRows - row;
  ActivationSlice slice{tile + row * kActivationTileCols,
                        tile + static_cast<unsigned long long>(p.k_tiles) * kActivationTileBytes,
                        tokens < left ? tokens : left, 0};
  if (tokens > left && (row_tile + 1) * kActivationTileRows < p.rows)
    slice.next_rows = tokens - left;
  return slice;
}

// ---- Kernels' shapes ----------------------------------------------------------------------------

// wgmma: two warp groups of 64 or 128 features each, and one that copies.
inline constexpr unsigned kWgmmaThreads = 3 * 128;
// mma.sync: 8 warps of 32 features by 64 tokens.
inline constexpr unsigned kMmaFeatures = 128, kMmaTokens = 128, kMmaThreads = 256, kMmaStages = 4;

// Room in which a warp turns up to 32 features by some tokens around, for stores along the
// features.
inline constexpr unsigned kStagingBytes = 2560;
// Behind it what is known of up to 128 tokens.
inline constexpr unsigned kScratchBytes = kStagingBytes + 128 * 8;

// Adds up split tiles: two of a tile's 8 warps, for 16 tokens.
inline constexpr unsigned kFinishThreads = 64, kFinishSharedBytes = 2 * kScratchBytes;
constexpr unsigned finish_blocks(const GemmParams& p, unsigned tokens) {
  return p.split_tiles * 4 * (tokens / 16);
}

// Scales by group from here up, and zero: a 64th of them is exact, which wgmma's products use.
inline constexpr float kLeastWgmmaScale = 0x1p-120f;
// Groups that share a step of 128 columns; 1 if they are as long or longer.
constexpr unsigned step_groups(unsigned group) {
  return group < kActivationTileCols ? kActivationTileCols / group : 1;
}
// Activations, weights, and the features' scales of `groups`; the swizzle wants 1024-byte
// alignment.
constexpr unsigned wgmma_stage_bytes(unsigned features, unsigned tokens, unsigned groups = 0) {
  return (tokens + features / 4) * kActivationTileCols +
         (features * 4 * groups + 1023) / 1024 * 1024;
}
// As many as fit into 192 KiB.
constexpr unsigned wgmma_stages(unsigned features, unsigned tokens, unsigned groups = 0) {
  return 192 * 1024 / wgmma_stage_bytes(features, tokens, groups);
}
// Stages with two barriers each, scratch of 8 warps, and room for the alignment.
constexpr unsigned wgmma_shared_bytes(unsigned features, unsigned tokens, unsigned groups = 0) {
  return wgmma_stages(features, tokens, groups) *
             (wgmma_stage_bytes(features, tokens, groups) + 16) +
         8 * kScratchBytes + 1024;
}
constexpr unsigned mma_shared_bytes() {
  const unsigned stages = kMmaStages * kMmaTokens * kActivationTileCols;
  const unsigned scratch = 8 * kScratchBytes;
  return (stages > scratch ? stages : scratch) + 128;
}

}  // namespace gpuready::ternary
