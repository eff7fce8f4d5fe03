#include "ternary/packed.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "ternary/call_log.h"
#include "ternary/compute.h"
#include "ternary/cpu/tiers.h"
#include "ternary/floats.h"
#include "ternary/layout.h"
#include "ternary/levels.h"
#include "ternary/shape.h"
#include "ternary/share.h"
#include "ternary/workers.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace gpuready::ternary {

void* allocate_aligned(std::size_t bytes, bool zeroed) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  // Large arrays are read from end to end; huge pages spare most of the page walks. The last one
  // may be half empty.
  const std::size_t alignment = bytes >= kHugePage / 2 ? kHugePage : 64;
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
                                                      CodesOf codes_of, std::int64_t group = 0) {
  TRY(check_threads(threads));
  const CallLog log;
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
  weights->group = group;
  const std::size_t rows = static_cast<std::size_t>(shape.rows);
  const std::size_t cols = static_cast<std::size_t>(shape.cols);
  const std::size_t cols_of_block = static_cast<std::size_t>(block_cols(form));
  weights->blocks = (cols + cols_of_block - 1) / cols_of_block;
  weights->panels = (rows + kPanelRows - 1) / kPanelRows;
  TRY(weights->set_scales(std::move(scales)));
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
  if (log.on() && good) {
    log.write({.what = "pack",
               .weights = shape,
               .group = group,
               .form = to_string(form),
               .threads = threads == 0 ? usable_cpus() : threads,
               .bytes = weights->panels * weights->panel_bytes()});
  }
  return weights;
}

std::unexpected<Error> bad_code(std::span<const std::int8_t> codes) {
  const auto bad = std::find_if(codes.begin(), codes.end(),
                                [](std::int8_t code) { return code < -1 || code > 1; });
  return fail(ErrorKind::bad_code, "the code of weight " + std::to_string(bad - codes.begin()) +
                                       " is " + std::to_string(*bad) + ", not -1, 0 or +1");
}

// `scales` are finite: one a row, or one a group, row-major.
Result<std::shared_ptr<detail::CpuWeights>> pack_codes(std::span<const std::int8_t> codes,
                                                       Shape shape, std::vector<float> scales,
                                                       std::int64_t group, Form form,
                                                       unsigned threads) {
  if (group != 0 && form == Form::three_trits) {
    return fail(ErrorKind::not_representable,
                "three trits take one scale a row; pack weights with scales by group as two-bit");
  }
  const std::size_t cols = static_cast<std::size_t>(shape.cols);
  auto weights = TRY(pack_rows(
      shape, form, std::move(scales), threads,
      [&](std::size_t row, std::size_t, std::vector<std::int8_t>&) {
        return codes.data() + row * cols;
      },
      group));
  if (!weights) return bad_code(codes);
  return weights;
}

// To the bit, so that every one of them can be had back from one.
bool one_scale(std::span<const float> scales) {
  return std::ranges::all_of(scales, [&](float scale) {
    return std::bit_cast<std::uint32_t>(scale) == std::bit_cast<std::uint32_t>(scales[0]);
  });
}

}  // namespace

Result<void> detail::CpuWeights::set_scales(std::vector<float> given) {
  const auto count = [&](double magnitude) {
    greatest_scale = std::max(greatest_scale, static_cast<float>(magnitude));
  };
  if (group == 0) {
    scales = std::move(given);
    for (const float scale : scales) count(std::fabs(scale));
    return {};
  }
  scales.assign(static_cast<std::size_t>(shape.rows), 1.0f);
  group_scales.assign(panels * groups() * kPanelRows, 0.0f);
  for (std::size_t row = 0; row < scales.size(); ++row) {
    const auto of_row = std::span(given).subspan(row * groups(), groups());
    if (shape.cols <= kMostExactCols && one_scale(of_row)) {
      scales[row] = of_row[0];
      count(std::fabs(of_row[0]));
      for (std::size_t g = 0; g < groups(); ++g) group_scales[scale_at(row, g)] = 1.0f;
      continue;
    }
    double most = 0;
    for (std::size_t g = 0; g < groups(); ++g) {
      group_scales[scale_at(row, g)] = of_row[g];
      most += 128.0 * static_cast<double>(group) * std::fabs(static_cast<double>(of_row[g]));
    }
    // Half of the range: rounding adds far less than that.
    if (most > static_cast<double>(std::numeric_limits<float>::max()) / 2) {
      return fail(ErrorKind::not_finite, "the scales of row " + std::to_string(row) +
                                             " are so large that its products can be infinite");
    }
    count(most);
  }
  return {};
}

Result<std::vector<float>> scales_by_row(const Codes& codes, std::int64_t first_row,
                                         std::int64_t count) {
  const std::size_t cols = static_cast<std::size_t>(codes.shape.cols);
  const std::size_t rows = static_cast<std::size_t>(count);
  if (codes.scale_block == 0) return std::vector<float>(rows, codes.scales[0]);
  const std::size_t block = static_cast<std::size_t>(codes.scale_block);
  std::vector<float> scales(rows);
  for (std::size_t at = 0; at < rows; ++at) {
    const std::size_t row = static_cast<std::size_t>(first_row) + at;
    const std::size_t first = row * cols / block, last = ((row + 1) * cols - 1) / block;
    if (!one_scale(std::span(codes.scales).subspan(first, last - first + 1))) {
      return fail(ErrorKind::not_representable,
                  "row " + std::to_string(row) + " has blocks of different scales");
    }
    scales[at] = codes.scales[first];
  }
  return scales;
}

Result<std::int64_t> scale_group_of(const Codes& codes) {
  const std::int64_t block = codes.scale_block, cols = codes.shape.cols;
  std::string why = "rows of more than " + std::to_string(kMostExactCols) +
                    " weights are multiplied by groups that have a scale";
  if (cols <= kMostExactCols || block == 0 || block >= cols) {
    const auto scales = scales_by_row(codes, 0, codes.shape.rows);
    if (scales) return 0;
    why = scales.error().message;
  }
  if (is_group(block) && cols % block == 0) return block;
  return fail(ErrorKind::not_representable,
              why + ": blocks of " + std::to_string(block) +
                  " weights are not groups of 32, 64, 128 or 256 that each row of " +
                  std::to_string(cols) + " begins with");
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
    const std::int64_t group = TRY(scale_group_of(codes));
    auto scales = group == 0 ? TRY(scales_by_row(codes, 0, codes.shape.rows)) : codes.scales;
    return PackedWeights(
        TRY(pack_codes(codes.values, codes.shape, std::move(scales), group, form, threads)));
  });
}

Result<PackedWeights> PackedWeights::pack(std::span<const std::int8_t> codes, Shape shape,
                                          const RowScales& scales, Form form, unsigned threads) {
  return compute([&]() -> Result<PackedWeights> {
    const auto count = TRY(elements(shape));
    TRY(check_type(scales.values.type));
    if (scales.group != 0 && !is_group(scales.group)) {
      return fail(ErrorKind::bad_input, "a group of " + std::to_string(scales.group) +
                                            " weights is not 32, 64, 128 or 256, nor 0 for a row");
    }
    const std::int64_t groups =
        scales.group == 0 ? 1 : (shape.cols + scales.group - 1) / scales.group;
    const std::size_t expected = static_cast<std::size_t>(shape.rows * groups);
    const std::size_t given = scales.values.bytes.size() / bytes_of(scales.values.type);
    if (codes.size() != count || given != expected ||
        scales.values.bytes.size() % bytes_of(scales.values.type) != 0) {
      return fail(ErrorKind::wrong_size,
                  "a shape of " + to_text(shape) + " needs " + std::to_string(count) +
                      " codes and " + std::to_string(expected) + " scales, not " +
                      std::to_string(codes.size()) + " and " + std::to_string(given));
    }
    std::vector<float> values(expected);
    read_floats(scales.values, 0, expected, values.data());
    const auto bad =
        std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
    if (bad != values.end()) {
      const std::int64_t at = bad - values.begin();
      return fail(ErrorKind::not_finite, "scale " + std::to_string(at % groups) + " of row " +
                                             std::to_string(at / groups) + " is " +
                                             (std::isnan(*bad) ? "NaN" : "infinite"));
    }
    return PackedWeights(
        TRY(pack_codes(codes, shape, std::move(values), scales.group, form, threads)));
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
std::int64_t PackedWeights::scale_group() const { return cpu_->group; }
std::span<const float> PackedWeights::row_scales() const {
  if (cpu_->group != 0) return {};
  return cpu_->scales;
}
std::vector<float> PackedWeights::group_scales() const {
  std::vector<float> scales;
  if (cpu_->group == 0) return scales;
  const std::size_t groups = cpu_->groups();
  scales.resize(static_cast<std::size_t>(cpu_->shape.rows) * groups);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = cpu_->group_scale(i / groups, i % groups);
  }
  return scales;
}

Codes PackedWeights::unpack() const {
  const detail::CpuWeights& w = *cpu_;
  Codes codes;
  codes.shape = w.shape;
  const std::size_t rows = static_cast<std::size_t>(w.shape.rows);
  const std::size_t cols = static_cast<std::size_t>(w.shape.cols);
  if (w.group == 0) {
    codes.scale_block = w.shape.cols;
    codes.scales = w.scales;
  } else {
    codes.scale_block = std::gcd(w.shape.cols, w.group);
    const std::size_t block = static_cast<std::size_t>(codes.scale_block);
    codes.scales.resize(rows * cols / block);
    for (std::size_t i = 0; i < codes.scales.size(); ++i) {
      const std::size_t group = i * block % cols / static_cast<std::size_t>(w.group);
      codes.scales[i] = w.group_scale(i * block / cols, group);
    }
  }
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

std::string_view v0::to_string(Form form) {
  return form == Form::two_bit ? "two-bit" : "three-trits";
}

}  // namespace gpuready::ternary
