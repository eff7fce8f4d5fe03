#include "ternary/packed.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <utility>

#include "ternary/compute.h"
#include "ternary/layout.h"
#include "ternary/levels.h"
#include "ternary/shape.h"
#include "ternary/share.h"
#include "ternary/tiers.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace gpuready::ternary {

void* allocate_aligned(std::size_t bytes, bool zeroed) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  // Large arrays are read from end to end; huge pages spare most of the page walks.
  const std::size_t alignment = bytes >= 2 * kHugePage ? kHugePage : 64;
  const std::size_t size =
      (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, size);
  if (memory == nullptr) return nullptr;
#if defined(__linux__)
  if (alignment == kHugePage) (void)madvise(memory, size, MADV_HUGEPAGE);
#endif
  if (zeroed) std::memset(memory, 0, size);
  return memory;
}

namespace {

using kernels::kPanelRows;
using kernels::kQuadBytes;

constexpr std::size_t kGrainBytes = 64 << 10;  // packed bytes that a thread makes at once

// Column of the panel's weight in byte `byte`, field `f` of block `block`.
std::size_t column(std::size_t block, int f, int byte, int cols_of_block) {
  return block * static_cast<std::size_t>(cols_of_block) +
         static_cast<std::size_t>(4 * f + byte % 4);
}

// `codes_of(first row, rows, room)` has the codes of a panel's rows, in `room` if it needs any, or
// null when one is bad; then, as for other codes than -1, 0 and +1, the result is null.
template <class CodesOf>
Result<std::shared_ptr<detail::CpuWeights>> pack_rows(Shape shape, Form form,
                                                      std::vector<float> scales, unsigned threads,
                                                      CodesOf codes_of) {
  if (form != Form::two_bit && form != Form::three_trits)
    return fail(ErrorKind::bad_input,
                "the form of packed weights is not one of those that there are");
  if (shape.cols > kMostCols) {
    return fail(ErrorKind::too_large, "a row of " + std::to_string(shape.cols) +
                                          " weights can overflow 32-bit sums; at most " +
                                          std::to_string(kMostCols));
  }
  auto weights = std::make_shared<detail::CpuWeights>();
  weights->shape = shape;
  weights->form = form;
  weights->scales = std::move(scales);
  for (const float scale : weights->scales) {
    weights->greatest_scale = std::max(weights->greatest_scale, std::fabs(scale));
  }
  const std::size_t rows = static_cast<std::size_t>(shape.rows);
  const std::size_t cols = static_cast<std::size_t>(shape.cols);
  const std::size_t cols_of_block = static_cast<std::size_t>(block_cols(form));
  weights->blocks = (cols + cols_of_block - 1) / cols_of_block;
  weights->panels = (rows + kPanelRows - 1) / kPanelRows;
  // Not zeroed here: the threads that write the panels are the first to touch their pages.
  weights->bytes.reset(static_cast<std::uint8_t*>(
      allocate_aligned(weights->panels * weights->panel_bytes(), false)));
  if (!weights->bytes) return fail(ErrorKind::too_large, "no memory for the packed weights");
  weights->sums.assign(weights->panels * kPanelRows, 0);
  const auto pack = weight_table().pack[static_cast<int>(form)];
  const std::size_t grain = std::max<std::size_t>(1, kGrainBytes / weights->panel_bytes());
  std::atomic<bool> good{true};
  share(weights->panels, grain, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int8_t> room;
    for (std::size_t panel = begin; panel < end; ++panel) {
      kernels::PackArgs args{};
      const std::size_t row = panel * kPanelRows;
      args.rows = std::min<std::size_t>(kPanelRows, rows - row);
      args.codes = codes_of(row, args.rows, room);
      args.stride = args.cols = cols;
      args.packed = weights->bytes.get() + panel * weights->panel_bytes();
      args.sums = weights->sums.data() + row;
      if (args.codes == nullptr || !pack(args)) good = false;
    }
  });
  if (!good) weights.reset();
  return weights;
}

}  // namespace

Result<std::vector<float>> scales_by_row(const Codes& codes, std::int64_t first_row,
                                         std::int64_t count) {
  const std::size_t cols = static_cast<std::size_t>(codes.shape.cols);
  const std::size_t rows = static_cast<std::size_t>(count);
  if (codes.scale_block == 0) return std::vector<float>(rows, codes.scales[0]);
  const std::size_t block = static_cast<std::size_t>(codes.scale_block);
  std::vector<float> scales(rows, 1.0f);
  for (std::size_t at = 0; at < rows; ++at) {
    const std::size_t row = static_cast<std::size_t>(first_row) + at;
    bool known = false;
    const std::size_t end = (row + 1) * cols;
    for (std::size_t i = row * cols; i < end;) {
      const std::size_t next = std::min(end, (i / block + 1) * block);
      const bool any = std::any_of(codes.values.begin() + static_cast<std::ptrdiff_t>(i),
                                   codes.values.begin() + static_cast<std::ptrdiff_t>(next),
                                   [](std::int8_t code) { return code != 0; });
      const float scale = codes.scales[i / block];
      if (any && known && scale != scales[at]) {
        return fail(ErrorKind::not_representable,
                    "row " + std::to_string(row) +
                        " has blocks of different scales; packed weights have one scale a row");
      }
      if (any) scales[at] = scale, known = true;
      i = next;
    }
  }
  return scales;
}

Result<PackedWeights> PackedWeights::pack(const Codes& codes, Form form, unsigned threads) {
  return compute([&]() -> Result<PackedWeights> {
    const auto count = TRY(elements(codes.shape));
    const std::size_t expected_scales =
        codes.scale_block <= 0 ? 1
                               : (count + static_cast<std::size_t>(codes.scale_block) - 1) /
                                     static_cast<std::size_t>(codes.scale_block);
    if (codes.values.size() != count || codes.scales.size() != expected_scales ||
        codes.scale_block < 0) {
      return fail(ErrorKind::wrong_size, "a shape of " + to_text(codes.shape) + " needs " +
                                             std::to_string(count) + " codes and " +
                                             std::to_string(expected_scales) + " scales, not " +
                                             std::to_string(codes.values.size()) + " and " +
                                             std::to_string(codes.scales.size()));
    }
    for (const float scale : codes.scales) {
      if (!std::isfinite(scale)) return fail(ErrorKind::not_finite, "a scale is not finite");
    }
    auto scales = TRY(scales_by_row(codes, 0, codes.shape.rows));
    const std::size_t cols = static_cast<std::size_t>(codes.shape.cols);
    auto weights = pack_rows(codes.shape, form, std::move(scales), threads,
                             [&](std::size_t row, std::size_t, std::vector<std::int8_t>&) {
                               return codes.values.data() + row * cols;
                             });
    if (!weights) return std::unexpected(weights.error());
    if (*weights) return PackedWeights(std::move(*weights));
    for (std::size_t i = 0; i < count; ++i) {
      if (codes.values[i] >= -1 && codes.values[i] <= 1) continue;
      return fail(ErrorKind::bad_code, "the code of weight " + std::to_string(i) + " is " +
                                           std::to_string(codes.values[i]) + ", not -1, 0 or +1");
    }
    std::unreachable();
  });
}

Result<PackedWeights> PackedWeights::pack(const EncodedView& from, Form form, unsigned threads) {
  return compute([&]() -> Result<PackedWeights> {
    const std::size_t width = plane_width(from.format, from.shape);
    // Where panels begin with groups of planes, each is decoded by itself, in the cache.
    if (width != 0 && static_cast<std::size_t>(from.shape.cols) * kPanelRows % (4 * width) == 0) {
      const auto scales = TRY(scales_of(from));
      const std::size_t cols = static_cast<std::size_t>(from.shape.cols);
      auto weights = pack_rows(
          from.shape, form,
          std::vector<float>(static_cast<std::size_t>(from.shape.rows), (scales)[0]), threads,
          [&](std::size_t row, std::size_t rows, std::vector<std::int8_t>& room) {
            room.resize(rows * cols);
            const bool good = weight_table().split(from.bytes.data() + row * cols / 4,
                                                   rows * cols / 4 / width, width, room.data());
            return good ? room.data() : nullptr;
          });
      if (!weights) return std::unexpected(weights.error());
      if (*weights) return PackedWeights(std::move(*weights));
    }
    const Result<Codes> codes = decode(from, threads);  // also to say which code is bad
    if (!codes) return std::unexpected(codes.error());
    return pack(*codes, form, threads);
  });
}

Shape PackedWeights::shape() const { return cpu_->shape; }
Form PackedWeights::form() const { return cpu_->form; }
std::size_t PackedWeights::bytes() const { return cpu_->panels * cpu_->panel_bytes(); }
std::span<const float> PackedWeights::row_scales() const { return cpu_->scales; }

Codes PackedWeights::unpack() const {
  const detail::CpuWeights& w = *cpu_;
  Codes codes;
  codes.shape = w.shape;
  codes.scale_block = w.shape.cols;
  codes.scales = w.scales;
  const std::size_t rows = static_cast<std::size_t>(w.shape.rows);
  const std::size_t cols = static_cast<std::size_t>(w.shape.cols);
  codes.values.resize(rows * cols);
  const int cols_of_block = block_cols(w.form), fields = cols_of_block / 4;
  std::uint8_t quads[24 * kQuadBytes];
  for (std::size_t panel = 0; panel < w.panels; ++panel) {
    for (std::size_t block = 0; block < w.blocks; ++block) {
      const std::uint8_t* at = w.bytes.get() + (panel * w.blocks + block) * w.block_bytes();
      kernels::kScalar.unpack[static_cast<int>(w.form)](at, 1, quads);
      for (int byte = 0; byte < kQuadBytes; ++byte) {
        const std::size_t row = panel * kPanelRows + static_cast<std::size_t>(byte / 4);
        for (int f = 0; f < fields && row < rows; ++f) {
          const std::size_t col = column(block, f, byte, cols_of_block);
          if (col < cols) {
            codes.values[row * cols + col] =
                static_cast<std::int8_t>(quads[f * kQuadBytes + byte] - 1);
          }
        }
      }
    }
  }
  return codes;
}

std::string_view to_string(Form form) { return form == Form::two_bit ? "two-bit" : "three-trits"; }

}  // namespace gpuready::ternary
