// Where a GPU keeps a ternary weight: one layout for vectors, matrices and both kinds of matrix
// instruction. A tile is 16 rows by 128 columns in 512 bytes: a 16-byte word group for each of 32
// lanes. With lane = 4 * g + t, 32-bit word j of a lane holds, in field f (bits 2f of each byte) of
// byte b, the code of
//   row    g + 8 * (f % 2)
//   column 32 * j + 16 * (f / 2) + 4 * t + b
// so that (word >> 2f) & 0x03030303 is register f of the A operand of mma.m16n8k32, and of a warp's
// share of wgmma's, for 8-bit integers (PTX ISA, "Matrix Fragments for mma.m16n8k32"). Tiles follow
// each other along the columns, then along the rows. Codes are w + 1; padding holds code 1 and
// meets activations of zero, so that sum(w * y) = sum(code * y) - sum(y).
#pragma once

#include <stdint.h>

#ifdef __CUDACC__
#define GPUREADY_TERNARY_FN __host__ __device__ constexpr
#else
#define GPUREADY_TERNARY_FN constexpr
#endif

namespace gpuready::ternary {

inline constexpr unsigned kTileRows = 16, kTileCols = 128, kTileBytes = 512;

struct WeightPlace {
  uint64_t word;   // 32-bit words from the start
  unsigned shift;  // of its two bits
};

GPUREADY_TERNARY_FN uint64_t tiles_of(uint64_t count, unsigned size) {
  return (count + size - 1) / size;
}

// `col_tiles` is tiles_of(cols, kTileCols).
GPUREADY_TERNARY_FN WeightPlace weight_place(uint64_t row, uint64_t col, uint64_t col_tiles) {
  const uint64_t tile = row / kTileRows * col_tiles + col / kTileCols;
  const unsigned r = row % kTileRows, c = col % kTileCols;
  const unsigned lane = 4 * (r % 8) + c % 16 / 4;
  const unsigned field = r / 8 + 2 * (c % 32 / 16);
  return {tile * (kTileBytes / 4) + 4 * lane + c / 32, 8 * (c % 4) + 2 * field};
}

}  // namespace gpuready::ternary
