// What stands behind PackedWeights and Activations on the CPU.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
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
// Packed bytes that are ours, or a caller's, which are not freed; their keeper keeps them.
struct FreeOrKeep {
  bool ours = true;
  std::shared_ptr<const void> keeper = nullptr;
  void operator()(std::uint8_t* p) const {
    if (ours) std::free(p);
  }
};
using PackedBytes = std::unique_ptr<std::uint8_t[], FreeOrKeep>;
void* allocate_aligned(std::size_t bytes, bool zeroed = true);
// For vectors that kernels read from end to end.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class Other>
  AlignedAllocator(const AlignedAllocator<Other>&) {}
  T* allocate(std::size_t count) {
    void* memory = allocate_aligned(count * sizeof(T), false);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  bool operator==(const AlignedAllocator&) const = default;
};
template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

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
  std::int64_t group = 0;          // weights that share a scale; 0: a row
  std::vector<float> scales;       // a row each: what its sum and the step are multiplied by
  // Where scales are by group: [panels][groups()][16], padded with 0. A row of one scale has 1 here
  // and its scale above, so that it is multiplied by the rule of rows; any other row has 1 above.
  AlignedVector<float> group_scales;
  // In magnitude, what a step is multiplied by: of rows of one scale that, of others what sums of
  // groups' terms can be.
  float greatest_scale = 0;

  // From a scale a row, or a group, row-major, all finite; where rows of others could make products
  // infinite, not_finite.
  Result<void> set_scales(std::vector<float> given);
  // What was given for a row's group. By no arithmetic, which a caller's rounding could change.
  float group_scale(std::size_t row, std::size_t g) const {
    const bool one =
        std::bit_cast<std::uint32_t>(scales[row]) == std::bit_cast<std::uint32_t>(1.0f);
    return one ? group_scales[scale_at(row, g)] : scales[row];
  }

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
// Sums of up to this many codes are exact in f32. Scales by group of longer rows are always
// multiplied by the rule of groups, whose sums are not: then no row's bits depend on another row's
// scales.
inline constexpr std::int64_t kMostExactCols = std::int64_t{1} << 17;

// The scale of each of some rows, or not_representable where a row's blocks differ, also by one of
// zeros.
Result<std::vector<float>> scales_by_row(const Codes& codes, std::int64_t first_row,
                                         std::int64_t rows);

// 0 where each row is multiplied by one scale, else the group, or not_representable where blocks
// are not groups of a row's weights.
Result<std::int64_t> scale_group_of(const Codes& codes);

// Whether scales may be one for this many weights of a row.
inline bool is_group(std::int64_t group) {
  return group == 32 || group == 64 || group == 128 || group == 256;
}
inline int block_cols(Form form) { return kernels::kBlockCols[static_cast<int>(form)]; }

}  // namespace gpuready::ternary
