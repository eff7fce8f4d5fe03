#include <algorithm>
#include <cmath>
#include <cstring>

#include "ternary/compute.h"
#include "ternary/floats.h"
#include "ternary/packed.h"
#include "ternary/shape.h"
#include "ternary/tiers.h"

namespace gpuready::ternary {
namespace {

Result<std::shared_ptr<detail::ActivationRows>> make_rows(std::int64_t rows, std::int64_t cols) {
  const Result<std::size_t> count = elements({rows, cols});
  if (!count) return std::unexpected(count.error());
  if (cols > kMostCols) {
    return fail(ErrorKind::too_large, "a row of " + std::to_string(cols) +
                                          " activations can overflow 32-bit sums; at most " +
                                          std::to_string(kMostCols));
  }
  auto result = std::make_shared<detail::ActivationRows>();
  result->rows = rows;
  result->cols = cols;
  // Room for a whole block of either form and then a whole group of quads behind the last column;
  // and no stride that is a multiple of 4096, for rows that share all their cache sets slow each
  // other.
  constexpr std::size_t kBehind = kernels::kBlockCols[1] + 4 * kernels::kQuadGroup;
  result->stride = (static_cast<std::size_t>(cols) + kBehind + 63) / 64 * 64;
  if (result->stride % 4096 == 0) result->stride += 64;
  result->padded_rows = rows == 1 ? 1 : (static_cast<std::size_t>(rows) + 31) / 32 * 32;
  result->codes.reset(
      static_cast<std::int8_t*>(allocate_aligned(result->padded_rows * result->stride)));
  if (!result->codes) return fail(ErrorKind::too_large, "no memory for the activations");
  result->steps.assign(static_cast<std::size_t>(rows), 1.0f);
  result->sums.assign(static_cast<std::size_t>(rows), 0);
  return result;
}

}  // namespace

Result<Activations> Activations::quantise(const FloatView& values, std::int64_t rows,
                                          std::int64_t cols) {
  return compute([&]() -> Result<Activations> {
    const auto count = TRY(elements({rows, cols}));
    TRY(check_type(values.type));
    if (values.bytes.size() != count * bytes_of(values.type)) {
      return fail(ErrorKind::wrong_size, std::to_string(rows) + " rows of " + std::to_string(cols) +
                                             " activations need " +
                                             std::to_string(count * bytes_of(values.type)) +
                                             " bytes, not " + std::to_string(values.bytes.size()));
    }
    auto made = TRY(make_rows(rows, cols));
    detail::ActivationRows& result = *made;
    const std::size_t width = static_cast<std::size_t>(cols);
    const kernels::Table& table = vector_table();
    std::vector<float> row(width);
    for (std::size_t m = 0; m < static_cast<std::size_t>(rows); ++m) {
      read_floats(values, m * width, width, row.data());
      float greatest = 0;
      bool finite = true;
      for (const float x : row) {
        const float magnitude = std::fabs(x);
        finite &= magnitude <= std::numeric_limits<float>::max();  // false for NaN too
        greatest = magnitude > greatest ? magnitude : greatest;
      }
      if (!finite) {
        const auto bad =
            std::find_if(row.begin(), row.end(), [](float x) { return !std::isfinite(x); });
        return fail(ErrorKind::not_finite, "activation " + std::to_string(bad - row.begin()) +
                                               " of row " + std::to_string(m) + " is " +
                                               (std::isnan(*bad) ? "NaN" : "infinite"));
      }
      const float limit = std::max(1e-5f, greatest);
      result.steps[m] = limit / 127.0f;
      result.sums[m] =
          table.quantise(row.data(), width, limit, result.codes.get() + m * result.stride);
    }
    return Activations(std::move(made));
  });
}

Result<Activations> Activations::from_int8(std::span<const std::int8_t> values, std::int64_t rows,
                                           std::int64_t cols, std::span<const float> steps) {
  return compute([&]() -> Result<Activations> {
    const auto count = TRY(elements({rows, cols}));
    if (values.size() != count ||
        (!steps.empty() && steps.size() != static_cast<std::size_t>(rows))) {
      return fail(ErrorKind::wrong_size, std::to_string(rows) + " rows of " + std::to_string(cols) +
                                             " activations need " + std::to_string(count) +
                                             " codes, and a step a row or none");
    }
    for (const float step : steps) {
      if (!std::isfinite(step)) return fail(ErrorKind::not_finite, "a step is not finite");
    }
    auto made = TRY(make_rows(rows, cols));
    detail::ActivationRows& result = *made;
    const std::size_t width = static_cast<std::size_t>(cols);
    for (std::size_t m = 0; m < static_cast<std::size_t>(rows); ++m) {
      std::memcpy(result.codes.get() + m * result.stride, values.data() + m * width, width);
      for (std::size_t k = 0; k < width; ++k) result.sums[m] += values[m * width + k];
      if (!steps.empty()) result.steps[m] = steps[m];
    }
    return Activations(std::move(made));
  });
}

std::int64_t Activations::rows() const { return rows_->rows; }
std::int64_t Activations::cols() const { return rows_->cols; }
std::span<const std::int8_t> Activations::row(std::int64_t index) const {
  return {rows_->codes.get() + static_cast<std::size_t>(index) * rows_->stride,
          static_cast<std::size_t>(rows_->cols)};
}
std::span<const float> Activations::steps() const { return rows_->steps; }
std::span<const std::int32_t> Activations::sums() const { return rows_->sums; }

}  // namespace gpuready::ternary
