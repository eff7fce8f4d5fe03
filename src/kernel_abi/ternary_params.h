// Parameters of the ternary kernels, as the host and every kind of device code see them. Weights
// lie as ternary_layout.h says; activations are rows of int8, `stride` bytes apart (a multiple of
// 128), with zeros behind the last column.
#pragma once

#include "kernel_abi/ternary_layout.h"

namespace gpuready::ternary {

// Sizes of the kernels as compiled. A ring: loads of a lane in flight. Padding: behind a row of
// activations where matrix instructions multiply, so that a column tile's rows lie in all banks.
inline constexpr unsigned kGemvWarps = 8, kGemvRing = 8, kGemvMatrixPaddingBytes = 16;
inline constexpr unsigned kStreamWarps = 12, kStreamPieceTiles = 8, kStreamMostStages = 4;
inline constexpr unsigned kGemvVulkanThreads = 128;
inline constexpr unsigned kActivationThreads = 512, kActivationVulkanThreads = 128;
inline constexpr unsigned kSumThreads = 128, kMeanThreads = 1024, kSignThreads = 256;

// What is known of a row of activations beside its codes.
struct GpuActivationRow {
  float step;           // value of one unit; NaN when the row held a NaN or an infinity
  int sum;              // of the codes
  unsigned bad_column;  // the first that is not finite; kNoColumn when all are
  unsigned reserved;
};
inline constexpr unsigned kNoColumn = ~0u;

// What is added to f32 products before they are rounded to the output's type, each sum rounded by
// itself: the bias of a column, then the residual of an element. A word is an address and, in its
// two highest bits, which no address of a device has, the type as in TernaryActivationParams; 0:
// none.
struct TernaryAddends {
  unsigned long long bias, residual;
};
constexpr unsigned long long addend_word(unsigned long long address, unsigned type) {
  return address == 0 ? 0 : address | static_cast<unsigned long long>(type) << 62;
}
constexpr unsigned long long addend_address(unsigned long long word) { return word << 2 >> 2; }
constexpr unsigned addend_type(unsigned long long word) {
  return static_cast<unsigned>(word >> 62);
}

// out[m * rows + n] of activation rows [0, m) and weight rows [0, n).
struct TernaryGemvParams {
  unsigned long long tiles_address;   // of the weights
  unsigned long long scales_address;  // f32 a weight row
  unsigned long long codes_address;   // of the activations
  unsigned long long rows_address;    // GpuActivationRow a row
  unsigned long long out_address;
  unsigned weight_rows;  // N
  unsigned row_tiles, col_tiles;
  unsigned activation_rows;  // M
  unsigned stride;
  unsigned groups;       // blocks for the same activation rows
  unsigned slices_log2;  // of the warps that share a row tile
  unsigned slice_tiles;  // column tiles of each; the last may have fewer
  unsigned chunk_tiles;  // of a slice, whose activations are in shared memory at once: all, or a
                         // multiple of 8
  unsigned output_type;  // 0 int32, 1 f32, 2 bf16, 3 f16
  TernaryAddends addends;
};

// The same of weights whose scales differ within a row, and up to 1, 4 or 16 rows of activations a
// block.
inline constexpr unsigned kGroupedWarps = 8;   // that multiply; with up to 4 rows one more adds
inline constexpr unsigned kGroupedBlocks = 3;  // of an SM, with up to 4 rows
// Words of a group's terms of one row of activations. One row's lie in all banks.
constexpr unsigned grouped_term_words(unsigned rows) { return rows == 1 ? 20 : kTileRows; }
struct TernaryGroupedParams {
  unsigned long long tiles_address;
  unsigned long long scales_address;        // f32 a weight row
  unsigned long long group_scales_address;  // f32 [row_tiles][groups][16]
  unsigned long long codes_address;         // rows, or tiles (ternary_gemm_params.h) where `tiled`
  unsigned long long rows_address;
  unsigned long long out_address;
  unsigned weight_rows, row_tiles, col_tiles;
  unsigned activation_rows, stride, tiled;
  unsigned group, groups;  // columns that share a scale: 32, 64, 128 or 256; groups of a row
  // Column tiles in shared memory at once: a multiple of 2, with up to 4 rows of 2 * kGroupedWarps.
  unsigned chunk_tiles;
  unsigned row_blocks;   // for the same activation rows; a block takes row tiles that far apart. As
                         // many as those, where not all columns are in shared memory at once
  unsigned output_type;  // 1 f32, 2 bf16, 3 f16
  TernaryAddends addends;
};
static_assert(sizeof(TernaryGroupedParams) <= 128);

// The same, for many weight rows: a block takes row tiles `groups` apart.
struct TernaryStreamParams {
  unsigned long long tiles_address, scales_address, out_address;
  unsigned long long rows_address;    // written, and not read, where values are given
  unsigned long long codes_address;   // or
  unsigned long long values_address;  // of the activations, [activation_rows][cols]
  unsigned cols, value_type;          // of those, as in TernaryActivationParams
  unsigned weight_rows, col_tiles, activation_rows, stride, groups, output_type;
  unsigned block_tiles, larger_blocks;  // row tiles of a block; blocks that have one more
  // A row tile's pieces, of piece_tiles column tiles or one more; and how many row tiles and pieces
  // follow for as many pieces as there are warps.
  unsigned pieces, piece_tiles, rows_per_turn, pieces_per_turn;
  unsigned stages;          // pieces that a warp has room for in shared memory; from sm_90 on
  unsigned prefetch_bytes;  // beyond a block's first pieces; a multiple of 16
  TernaryAddends addends;
};
static_assert(sizeof(TernaryStreamParams) <= 128);

// Codes, steps and sums of rows of values, by the rule of Activations::quantise(); a block a row.
struct TernaryActivationParams {
  unsigned long long values_address;  // [rows][cols]
  unsigned long long codes_address;
  unsigned long long rows_address;
  unsigned rows, cols, stride;
  unsigned value_type;  // 0 f32, 1 f16, 2 bf16
};

// The I2_S bytes (planar, 128 or 64 weights a block) of values. The sign rule: the scale's place
// and `bad_address` are set by a launch with `begin`, then all is done by one without. The absmean
// rule: kTernarySums leaves sums at sums_address(out_address) (ternary_weights.h), kTernaryMean
// makes the scale of them and sets `bad_address`, then kTernarySigns writes codes over them.
struct TernaryWeightsParams {
  unsigned long long values_address;
  unsigned long long out_address;  // count / 4 bytes of codes, the scale, 28 bytes of padding
  unsigned long long bad_address;  // u64: the first value that is not finite; all ones for none
  unsigned long long count;        // of weights, whole blocks
  unsigned value_type;
  unsigned block;    // 128 or 64
  unsigned absmean;  // 1: the rule; `begin` is 0
  unsigned begin;
};

}  // namespace gpuready::ternary
