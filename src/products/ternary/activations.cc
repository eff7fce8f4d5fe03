#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ternary/call_log.h"
#include "ternary/compute.h"
#include "ternary/cpu/tiers.h"
#include "ternary/engine.h"
#include "ternary/floats.h"
#include "ternary/packed.h"
#include "ternary/shape.h"

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

// Rows are f32 where they lie, or read into `room`.
const float* row_of(const FloatView& values, std::size_t row, std::size_t cols, float* room) {
  const std::byte* at = values.bytes.data() + row * cols * bytes_of(values.type);
  const bool in_place =
      values.type == FloatType::f32 && reinterpret_cast<std::uintptr_t>(at) % alignof(float) == 0;
  if (in_place) return reinterpret_cast<const float*>(at);
  read_floats(values, row * cols, cols, room);
  return room;
}

// False where one is NaN or infinite.
bool quantise_row(const kernels::Table& table, const float* x, std::size_t row,
                  detail::ActivationRows& result) {
  const std::size_t cols = static_cast<std::size_t>(result.cols);
  const float greatest = std::bit_cast<float>(table.greatest(x, cols));
  if (!std::isfinite(greatest)) return false;
  const float limit = std::max(1e-5f, greatest);
  result.steps[row] = limit / 127.0f;
  result.sums[row] = table.quantise(x, cols, limit, result.codes.get() + row * result.stride);
  return true;
}

}  // namespace

Result<std::shared_ptr<detail::ActivationRows>> quantise_rows(detail::CpuEngine* engine,
                                                              const FloatView& values,
                                                              std::int64_t rows,
                                                              std::int64_t cols) {
  const auto count = TRY(elements({rows, cols}));
  TRY(check_type(values.type));
  if (values.bytes.size() != count * bytes_of(values.type)) {
    return fail(ErrorKind::wrong_size, std::to_string(rows) + " rows of " + std::to_string(cols) +
                                           " activations need " +
                                           std::to_string(count * bytes_of(values.type)) +
                                           " bytes, not " + std::to_string(values.bytes.size()));
  }
  auto made = TRY(make_rows(rows, cols));
  const kernels::Table& table = vector_table();
  const std::size_t height = static_cast<std::size_t>(rows), width = static_cast<std::size_t>(cols);
  std::unique_lock<std::mutex> lock;
  const CallLog log;
  detail::Crew crew{};
  if (engine != nullptr && !engine->forked()) {
    lock = std::unique_lock(engine->mutex);
    crew.workers = engine->workers.get();
  }
  const unsigned parts = static_cast<unsigned>(
      std::min<std::size_t>(crew.worth(quantise_ns(values.type, height, width)), height));
  std::vector<float> room(parts * width);
  // Rows are begun in their order, and each that is begun is done: so the first bad one is found.
  std::atomic<std::size_t> next{0}, bad{height};
  const bool done = crew.run(parts, [&](unsigned part) {
    for (std::size_t row;
         !crew.stop.requested() && (row = next.fetch_add(1, std::memory_order_relaxed)) < height;) {
      if (quantise_row(table, row_of(values, row, width, room.data() + part * width), row, *made))
        continue;
      next.store(height, std::memory_order_relaxed);
      for (std::size_t least = bad.load(); row < least && !bad.compare_exchange_weak(least, row);) {
      }
    }
  });
  TRY(all_done(done, crew.stop));
  if (log.on()) {
    log.write({.what = "activations",
               .m = rows,
               .weights = {0, cols},
               .threads = parts,
               .bytes = values.bytes.size()});
  }
  if (const std::size_t row = bad.load(); row != height) {
    const float* x = row_of(values, row, width, room.data());
    const std::size_t at = static_cast<std::size_t>(
        std::find_if(x, x + width, [](float v) { return !std::isfinite(v); }) - x);
    return fail(ErrorKind::not_finite, "activation " + std::to_string(at) + " of row " +
                                           std::to_string(row) + " is " +
                                           (std::isnan(x[at]) ? "NaN" : "infinite"));
  }
  return made;
}

Result<Activations> Activations::quantise(const FloatView& values, std::int64_t rows,
                                          std::int64_t cols) {
  return compute([&]() -> Result<Activations> {
    return Activations(TRY(quantise_rows(nullptr, values, rows, cols)));
  });
}

Result<Activations> CpuEngine::quantise(const FloatView& values, std::int64_t rows,
                                        std::int64_t cols) const {
  return compute([&]() -> Result<Activations> {
    return Activations(TRY(quantise_rows(engine_.get(), values, rows, cols)));
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
      result.sums[m] = vector_table().sum(values.data() + m * width, width);
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
