// What stands behind PackedWeights and Activations on the CPU.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "gpuready/ternary.h"
#include "ternary/kernels.h"

namespace gpuready::ternary {

// 64-byte aligned memory; null when there is none.
struct FreeAligned {
  void operator()(void* p) const { std::free(p); }
};
template <class T>
using AlignedArray = std::unique_ptr<T[], FreeAligned>;
void* allocate_aligned(std::size_t bytes, bool zeroed = true);

namespace detail {

struct CpuWeights {
  Shape shape;
  Form form = Form::two_bit;
  std::size_t blocks = 0;  // a panel
  std::size_t panels = 0;
  AlignedArray<std::uint8_t> bytes;  // [panels][blocks][block_bytes()]
  std::vector<std::int32_t> sums;    // of w, a row each; padded to whole panels
  std::vector<float> scales;         // a row each
  float greatest_scale = 0;          // in magnitude

  std::size_t block_bytes() const {
    return static_cast<std::size_t>(kernels::kBlockBytes[static_cast<int>(form)]);
  }
  std::size_t panel_bytes() const { return blocks * block_bytes(); }
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
// a weight other than zero say nothing: any scale fits them.
Result<std::vector<float>> scales_by_row(const Codes& codes, std::int64_t first_row,
                                         std::int64_t rows);

inline int block_cols(Form form) { return kernels::kBlockCols[static_cast<int>(form)]; }

}  // namespace gpuready::ternary
