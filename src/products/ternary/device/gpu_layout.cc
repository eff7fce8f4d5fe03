#include "ternary/device/gpu_layout.h"

#include <cstring>

#include "ternary/packed.h"

namespace gpuready::ternary {
namespace {

constexpr std::uint32_t kOnes = 0x55555555;    // code 1 in every field: a weight of zero
constexpr std::uint32_t kFields = 0x03030303;  // one field of each byte
constexpr std::size_t kBlocksPerTile = kTileCols / 16;

std::uint64_t row_tiles_of(Shape shape) {
  return tiles_of(static_cast<std::uint64_t>(shape.rows), kTileRows);
}
std::uint64_t col_tiles_of(Shape shape) {
  return tiles_of(static_cast<std::uint64_t>(shape.cols), kTileCols);
}

// Four columns of row `row` of the CPU's block, at field t: in the lowest bits of each byte.
std::uint32_t quad(const std::uint8_t* block, unsigned row, unsigned t) {
  std::uint32_t word;
  std::memcpy(&word, block + 4 * row, 4);
  return word >> 2 * t & kFields;
}

// A panel's blocks hold 16 columns each in the same order: a word takes two of them.
void tile_from_blocks(const std::uint8_t* const (&blocks)[kBlocksPerTile], std::uint32_t* tile) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned j = 0; j < 4; ++j) {
      const std::uint8_t *first = blocks[2 * j], *second = blocks[2 * j + 1];
      tile[4 * lane + j] = quad(first, g, t) | quad(first, g + 8, t) << 2 |
                           quad(second, g, t) << 4 | quad(second, g + 8, t) << 6;
    }
  }
}

std::vector<std::uint32_t> tiles_from_two_bit(const detail::CpuWeights& weights) {
  static_assert(kTileRows == kernels::kPanelRows && kernels::kBlockCols[0] == 16);
  const std::uint64_t row_tiles = row_tiles_of(weights.shape),
                      col_tiles = col_tiles_of(weights.shape);
  std::vector<std::uint32_t> tiles(row_tiles * col_tiles * (kTileBytes / 4));
  std::uint8_t beyond[kernels::kBlockBytes[0]];
  std::memset(beyond, kOnes & 0xFF, sizeof beyond);
  std::uint32_t* tile = tiles.data();
  for (std::uint64_t row_tile = 0; row_tile < row_tiles; ++row_tile) {
    const std::uint8_t* panel = weights.bytes.get() + row_tile * weights.panel_bytes();
    for (std::uint64_t col_tile = 0; col_tile < col_tiles; ++col_tile, tile += kTileBytes / 4) {
      const std::uint8_t* blocks[kBlocksPerTile];
      for (std::size_t b = 0; b < kBlocksPerTile; ++b) {
        const std::size_t block = col_tile * kBlocksPerTile + b;
        blocks[b] = block < weights.blocks ? panel + block * weights.block_bytes() : beyond;
      }
      tile_from_blocks(blocks, tile);
    }
  }
  return tiles;
}

}  // namespace

std::size_t gpu_tile_bytes(Shape shape) {
  return row_tiles_of(shape) * col_tiles_of(shape) * kTileBytes;
}

std::vector<std::uint32_t> gpu_tiles(std::span<const std::int8_t> codes, Shape shape) {
  std::vector<std::uint32_t> tiles(gpu_tile_bytes(shape) / 4, kOnes);
  const auto rows = static_cast<std::uint64_t>(shape.rows),
             cols = static_cast<std::uint64_t>(shape.cols);
  const std::uint64_t col_tiles = col_tiles_of(shape);
  for (std::uint64_t row = 0; row < rows; ++row)
    for (std::uint64_t col = 0; col < cols; ++col) {
      const WeightPlace place = weight_place(row, col, col_tiles);
      // Flips the padding's 1 into the code: 0, 1 or 2.
      const auto code = static_cast<std::uint32_t>(codes[row * cols + col] + 1);
      tiles[place.word] ^= (code ^ 1u) << place.shift;
    }
  return tiles;
}

std::vector<std::uint32_t> gpu_tiles(const PackedWeights& weights) {
  if (weights.form() == Form::two_bit) return tiles_from_two_bit(weights.cpu());
  return gpu_tiles(weights.unpack().values, weights.shape());
}

}  // namespace gpuready::ternary
