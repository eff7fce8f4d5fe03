#include "ternary/device/device_product.h"

#include <algorithm>
#include <cmath>

#include "ternary/call_log.h"
#include "ternary/device/fallback.h"
#include "ternary/floats.h"
#include "ternary/packed.h"
#include "ternary/shape.h"
#include "ternary/stop.h"

namespace gpuready::ternary::detail {
namespace {

Result<void> check_sizes(const LoadedWeights& weights, const Input& input, const OutputView& out) {
  const Shape shape = weights.host.shape();
  const std::size_t element = element_bytes(out.type);
  std::size_t count = 0, bytes = 0;
  if (input.rows < 1)
    return fail(ErrorKind::wrong_size, "a product needs at least one row of activations");
  if (input.codes != nullptr) TRY(check_cols(shape, input.codes->cols()));
  if (input.values != nullptr &&
      (__builtin_mul_overflow(static_cast<std::size_t>(input.rows),
                              static_cast<std::size_t>(shape.cols), &count) ||
       __builtin_mul_overflow(count, bytes_of(input.values->type), &bytes) ||
       bytes != input.values->bytes.size()))
    return fail(ErrorKind::wrong_size, std::to_string(input.rows) + " rows of " +
                                           std::to_string(shape.cols) + " activations are not " +
                                           std::to_string(input.values->bytes.size()) + " bytes");
  if (__builtin_mul_overflow(static_cast<std::size_t>(input.rows),
                             static_cast<std::size_t>(shape.rows), &count) ||
      __builtin_mul_overflow(count, element, &bytes) || bytes != out.bytes.size())
    return fail(ErrorKind::wrong_size, "the product is " + to_text(Shape{input.rows, shape.rows}) +
                                           ", not " + std::to_string(out.bytes.size() / element) +
                                           " elements");
  return check_addends(out.addends, static_cast<std::size_t>(input.rows),
                       static_cast<std::size_t>(shape.rows), out.bytes);
}

Result<void> multiply_whole(Backend& backend, const BackendWeights& weights, const Input& input,
                            const OutputView& out) {
  return input.codes != nullptr ? backend.multiply(weights, *input.codes, out)
                                : backend.multiply(weights, *input.values, input.rows, out);
}

OutputView part_of(const OutputView& out, std::size_t first_byte, std::size_t bytes) {
  OutputView part = out;
  part.bytes = out.bytes.subspan(first_byte, bytes);
  if (FloatView& residual = part.addends.residual; !residual.bytes.empty()) {
    const std::size_t own = bytes_of(residual.type), of_out = element_bytes(out.type);
    residual.bytes = residual.bytes.subspan(first_byte / of_out * own, bytes / of_out * own);
  }
  return part;
}

// At most `most` rows at a time. All rows are quantised and judged before the first part runs, so
// that a bad value in the last row leaves `out` as it was, as in one call.
Result<void> multiply_parts(Backend& backend, const LoadedWeights& weights, const Input& input,
                            const OutputView& out, std::int64_t most) {
  std::optional<Activations> quantised;
  if (input.codes == nullptr) {
    auto made = TRY(Activations::quantise(*input.values, input.rows, weights.host.shape().cols));
    quantised = std::move(made);
  }
  const Activations& all = quantised ? *quantised : *input.codes;
  if (out.type != OutputType::int32) {
    float step = 0;
    for (const float s : all.steps()) step = std::max(step, std::fabs(s));
    if (!std::isfinite(step * weights.host.cpu().greatest_scale))
      return fail(ErrorKind::not_finite, "the product of a step and a scale is not finite");
  }
  const std::size_t row_bytes = out.bytes.size() / static_cast<std::size_t>(input.rows);
  std::vector<std::int8_t> codes;
  for (std::int64_t first = 0; first < input.rows; first += most) {
    if (StopSignal::of_this_thread().requested()) return cancelled();
    const std::int64_t rows = std::min(most, input.rows - first);
    codes.clear();
    for (std::int64_t row = first; row < first + rows; ++row)
      codes.insert(codes.end(), all.row(row).begin(), all.row(row).end());
    const auto part = TRY(Activations::from_int8(
        codes, rows, all.cols(),
        all.steps().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows))));
    TRY(backend.multiply(*weights.on_gpu, part,
                         part_of(out, static_cast<std::size_t>(first) * row_bytes,
                                 static_cast<std::size_t>(rows) * row_bytes)));
  }
  return {};
}

Result<void> multiply_on_gpu(DeviceState& state, LoadedWeights& weights, const Input& input,
                             const OutputView& out) {
  std::int64_t most = rows_that_fit_now(state, weights);
  if (most < 1)
    return fail(ErrorKind::device_memory,
                "the device has no room for the workspace of one row of activations");
  for (;;) {
    const std::int64_t rows = std::min(most, input.rows);
    auto done = rows == input.rows ? multiply_whole(*state.gpu(), *weights.on_gpu, input, out)
                                   : multiply_parts(*state.gpu(), weights, input, out, rows);
    if (done || done.error().kind != ErrorKind::device_memory || rows == 1) return done;
    // Others took memory since it was asked for: smaller parts, down to one row.
    ++state.memory_epoch;
    most = std::max<std::int64_t>(1, std::min(rows_that_fit_now(state, weights), rows / 4));
    weights.rows_that_fit = most;
  }
}

}  // namespace

std::int64_t rows_that_fit_now(DeviceState& state, LoadedWeights& weights) {
  if (weights.epoch != state.memory_epoch) {
    weights.rows_that_fit = state.rows_that_fit(weights.host.shape());
    weights.epoch = state.memory_epoch;
  }
  return weights.rows_that_fit;
}

Result<void> multiply(DeviceState& state, LoadedWeights& weights, const Input& input,
                      const OutputView& out) {
  TRY(state.check_process());
  Result<void> fits = check_sizes(weights, input, out);
  if (weights.state.get() != &state)
    fits = fail(ErrorKind::wrong_size, "these weights were loaded by another engine");
  if (state.forked()) return fits ? multiply_whole(state.cpu(), *weights.on_cpu, input, out) : fits;
  const std::lock_guard lock(state.mutex);
  if (fits && StopSignal::of_this_thread().requested()) fits = cancelled();
  if (!fits) {
    state.counters.failed.add(1);
    return fits;
  }
  // What a device has added in place before it failed must not be added twice.
  std::vector<std::byte> residual;
  OutputView target = out;
  if (weights.on_gpu && !out.addends.residual.bytes.empty()) {
    const auto given = out.addends.residual.bytes;
    residual.assign(given.begin(), given.end());
    target.addends.residual.bytes = residual;
  }
  bool on_gpu = false;
  const CallLog log;
  const auto& time_ns = state.counters.time_ns[static_cast<int>(Operation::product)];
  const std::uint64_t before_ns = time_ns.get();
  auto done = attempt(
      state, Operation::product, &weights, on_gpu,
      [&] { return multiply_on_gpu(state, weights, input, target); },
      [&] { return multiply_whole(state.cpu(), *weights.on_cpu, input, target); });
  const PackedWeights& host = weights.host;
  state.last = {host.shape(), input.rows, on_gpu, host.scale_group() != 0};
  if (!done) return done;
  const std::string_view kernel = state.last_kernel();
  state.count_product(kernel, time_ns.get() - before_ns);
  if (log.on() && on_gpu) {  // the CPU's engine has logged its own
    log.write({.what = "product",
               .m = input.rows,
               .weights = host.shape(),
               .group = host.scale_group(),
               .form = to_string(host.form()),
               .kernel = kernel,
               .bytes = weights.on_gpu->bytes()});
  }
  return done;
}

}  // namespace gpuready::ternary::detail
