// What stands behind PackedWeights and Activations on the CPU.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "gpuready/ternary.h"
#include "ternary/cpu/kernels.h"

namespace gpuready::ternary {

// 64-byte aligned memory; null when there is none.
struct FreeAligned {
  void operator()(void* p) const { std::free(p); }
};
template <class T>
using AlignedArray = std::unique_ptr<T[], FreeAligned>;
// Packed bytes that are ours, or a caller's, which are left alone and kept by their keeper.
struct FreeOrKeep {
  bool ours = true;
  std::shared_ptr<const void> keeper = nullptr;
  void operator()(std::uint8_t* p) const {
    if (ours) std::free(p);
  }
};
using PackedBytes = std::unique_ptr<std::uint8_t[], FreeOrKeep>;
void* allocate_aligned(std::size_t bytes, bool zeroed = true);

// Of the panels of saved weights, `count` of one size; against damage and not against malice.
std::uint64_t saved_contents_hash(std::span<const std::byte> panels, std::size_t count,
                                  unsigned threads);

namespace detail {

struct CpuWeights {
  Shape shape;
  Form form = Form::two_bit;
  std::size_t blocks = 0;  // a panel
  std::size_t panels = 0;
  PackedBytes bytes;               // [panels][blocks][block_bytes()]
  std::vector<std::int32_t> sums;  // of w, a row each; padded to whole panels
  std::vector<float> scales;       // a row each; or [panels][groups()][16], padded with 0
  // In magnitude, what a step is multiplied by: of row scales, or what sums of groups' terms can
  // be.
  float greatest_scale = 0;
  std::int64_t group = 0;  // weights that share a scale; 0: a row

  std::size_t block_bytes() const {
    return static_cast<std::size_t>(kernels::kBlockBytes[static_cast<int>(form)]);
  }
  std::size_t panel_bytes() const { return blocks * block_bytes(); }
  std::size_t groups() const {  // of a row
    return static_cast<std::size_t>(group == 0 ? 1 : (shape.cols + group - 1) / group);
  }
  std::size_t group_blocks() const {
    return static_cast<std::size_t>(group) / kernels::kBlockCols[0];
  }
  // Where the scale of a row's group is.
  std::size_t scale_at(std::size_t row, std::size_t g) const {
    constexpr std::size_t kRows = kernels::kPanelRows;
    return (row / kRows * groups() + g) * kRows + row % kRows;
  }
};

struct ActivationRows {
  std::int64_t rows = 0, cols = 0;
  std::size_t stride = 0, padded_rows = 0;
  AlignedArray<std::int8_t> codes;  // [padded_rows][stride], padded with zeros
  std::vector<float> steps;
  std::vector<std::int32_t> sums;
};

}  // namespace detail

inline constexpr std::int64_t kMostCols = std::int64_t{1} << 22;  // int32 sums of codes hold

// The scale of each of some rows, or not_representable where a row's blocks differ. Blocks without
// a weight other than zero say nothing: any scale fits them. A row of zeros has its first block's.
Result<std::vector<float>> scales_by_row(const Codes& codes, std::int64_t first_row,
                                         std::int64_t rows);

// 0 where each row has one scale, the group where scales differ within a row, or
// not_representable where such blocks are not groups of a row's weights.
Result<std::int64_t> scale_group_of(const Codes& codes);

// Whether scales may be one for this many weights of a row.
inline bool is_group(std::int64_t group) {
  return group == 32 || group == 64 || group == 128 || group == 256;
}
// Scales of groups, row-major: the greatest magnitude that a sum of groups' terms can have, where
// it is always a finite f32.
Result<float> greatest_group_sum(std::span<const float> scales, Shape shape, std::int64_t group);

inline int block_cols(Form form) { return kernels::kBlockCols[static_cast<int>(form)]; }

}  // namespace gpuready::ternary
