#include "ternary/packed.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ternary/error.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace gpuready::ternary {

void* allocate_aligned(std::size_t bytes) {
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
  std::memset(memory, 0, size);
  return memory;
}

namespace {

using kernels::kBlockBytes;
using kernels::kPanelRows;

// Column of the panel's weight in byte `byte`, field `f` of block `block`.
std::size_t column(std::size_t block, int f, int byte, int cols_of_block) {
  return block * static_cast<std::size_t>(cols_of_block) +
         static_cast<std::size_t>(4 * f + byte % 4);
}

std::uint8_t pack_byte(const int (&codes)[5], Form form) {
  if (form == Form::two_bit) {
    return static_cast<std::uint8_t>(codes[0] | codes[1] << 2 | codes[2] << 4 | codes[3] << 6);
  }
  int value = 0;
  for (const int code : codes) value = value * 3 + code;
  return static_cast<std::uint8_t>((value * 256 + 242) / 243);
}

// The scale of each row, or an error when a row's blocks differ. Blocks without a weight other than
// zero say nothing: any scale fits them.
Result<std::vector<float>> scales_by_row(const Codes& codes) {
  const std::size_t cols = static_cast<std::size_t>(codes.shape.cols);
  const std::size_t rows = static_cast<std::size_t>(codes.shape.rows);
  if (codes.scale_block == 0) return std::vector<float>(rows, codes.scales[0]);
  const std::size_t block = static_cast<std::size_t>(codes.scale_block);
  std::vector<float> scales(rows, 1.0f);
  for (std::size_t row = 0; row < rows; ++row) {
    bool known = false;
    const std::size_t end = (row + 1) * cols;
    for (std::size_t i = row * cols; i < end;) {
      const std::size_t next = std::min(end, (i / block + 1) * block);
      const bool any = std::any_of(codes.values.begin() + static_cast<std::ptrdiff_t>(i),
                                   codes.values.begin() + static_cast<std::ptrdiff_t>(next),
                                   [](std::int8_t code) { return code != 0; });
      const float scale = codes.scales[i / block];
      if (any && known && scale != scales[row]) {
        return fail(ErrorKind::not_representable,
                    "row " + std::to_string(row) +
                        " has blocks of different scales; packed weights have one scale a row");
      }
      if (any) scales[row] = scale, known = true;
      i = next;
    }
  }
  return scales;
}

}  // namespace

Result<PackedWeights> PackedWeights::pack(const Codes& codes, Form form) {
  const Result<std::size_t> count = elements(codes.shape);
  if (!count) return std::unexpected(count.error());
  if (codes.shape.cols > kMostCols) {
    return fail(ErrorKind::too_large, "a row of " + std::to_string(codes.shape.cols) +
                                          " weights can overflow 32-bit sums; at most " +
                                          std::to_string(kMostCols));
  }
  const std::size_t expected_scales =
      codes.scale_block <= 0 ? 1
                             : (*count + static_cast<std::size_t>(codes.scale_block) - 1) /
                                   static_cast<std::size_t>(codes.scale_block);
  if (codes.values.size() != *count || codes.scales.size() != expected_scales ||
      codes.scale_block < 0) {
    return fail(ErrorKind::wrong_size, "a shape of " + to_text(codes.shape) + " needs " +
                                           std::to_string(*count) + " codes and " +
                                           std::to_string(expected_scales) + " scales, not " +
                                           std::to_string(codes.values.size()) + " and " +
                                           std::to_string(codes.scales.size()));
  }
  for (const float scale : codes.scales) {
    if (!std::isfinite(scale)) return fail(ErrorKind::not_finite, "a scale is not finite");
  }
  auto weights = std::make_shared<detail::CpuWeights>();
  weights->shape = codes.shape;
  weights->form = form;
  Result<std::vector<float>> scales = scales_by_row(codes);
  if (!scales) return std::unexpected(scales.error());
  weights->scales = std::move(*scales);
  for (const float scale : weights->scales) {
    weights->greatest_scale = std::max(weights->greatest_scale, std::fabs(scale));
  }
  const std::size_t rows = static_cast<std::size_t>(codes.shape.rows);
  const std::size_t cols = static_cast<std::size_t>(codes.shape.cols);
  const int cols_of_block = block_cols(form), fields = cols_of_block / 4;
  weights->blocks = (cols + static_cast<std::size_t>(cols_of_block) - 1) /
                    static_cast<std::size_t>(cols_of_block);
  weights->panels = (rows + kPanelRows - 1) / kPanelRows;
  weights->bytes.reset(
      static_cast<std::uint8_t*>(allocate_aligned(weights->panels * weights->panel_bytes())));
  if (!weights->bytes) return fail(ErrorKind::too_large, "no memory for the packed weights");
  weights->sums.assign(weights->panels * kPanelRows, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    std::int32_t sum = 0;
    for (std::size_t i = row * cols; i < (row + 1) * cols; ++i) {
      const int code = codes.values[i];
      if (code < -1 || code > 1) {
        return fail(ErrorKind::bad_code, "the code of weight " + std::to_string(i) + " is " +
                                             std::to_string(code) + ", not -1, 0 or +1");
      }
      sum += code;
    }
    weights->sums[row] = sum;
  }
  std::uint8_t* out = weights->bytes.get();
  for (std::size_t panel = 0; panel < weights->panels; ++panel) {
    for (std::size_t block = 0; block < weights->blocks; ++block, out += kBlockBytes) {
      for (int byte = 0; byte < kBlockBytes; ++byte) {
        const std::size_t row = panel * kPanelRows + static_cast<std::size_t>(byte / 4);
        int fields_codes[5] = {1, 1, 1, 1, 1};
        for (int f = 0; f < fields && row < rows; ++f) {
          const std::size_t col = column(block, f, byte, cols_of_block);
          if (col < cols) fields_codes[f] = codes.values[row * cols + col] + 1;
        }
        out[byte] = pack_byte(fields_codes, form);
      }
    }
  }
  return PackedWeights(std::move(weights));
}

Result<PackedWeights> PackedWeights::pack(const EncodedView& from, Form form) {
  const Result<Codes> codes = decode(from);
  if (!codes) return std::unexpected(codes.error());
  return pack(*codes, form);
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
  std::uint8_t quads[5 * kBlockBytes];
  for (std::size_t panel = 0; panel < w.panels; ++panel) {
    for (std::size_t block = 0; block < w.blocks; ++block) {
      const std::uint8_t* at = w.bytes.get() + (panel * w.blocks + block) * kBlockBytes;
      kernels::kScalar.unpack[static_cast<int>(w.form)](at, 1, quads);
      for (int byte = 0; byte < kBlockBytes; ++byte) {
        const std::size_t row = panel * kPanelRows + static_cast<std::size_t>(byte / 4);
        for (int f = 0; f < fields && row < rows; ++f) {
          const std::size_t col = column(block, f, byte, cols_of_block);
          if (col < cols) {
            codes.values[row * cols + col] =
                static_cast<std::int8_t>(quads[f * kBlockBytes + byte] - 1);
          }
        }
      }
    }
  }
  return codes;
}

std::string_view to_string(Form form) { return form == Form::two_bit ? "two-bit" : "five-trits"; }

}  // namespace gpuready::ternary
