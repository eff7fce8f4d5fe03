// DeviceEngine: each call is tried on the device, where that may be tried, and done by the CPU
// where the device could not.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "ternary/error.h"
#include "ternary/floats.h"
#include "ternary_device/choose.h"
#include "ternary_device/cpu_backend.h"
#include "ternary_device/device_state.h"

namespace gpuready::ternary {

using detail::DeviceState;
using detail::LoadedWeights;
using detail::Operation;
using detail::Skip;

namespace {

using Clock = std::chrono::steady_clock;

// What an error of a GPU's backend means for the call.
enum class Blame {
  caller,  // the CPU would say the same
  call,    // this call does not suit the device; another may
  device,  // counts for the breaker
};
Blame blame(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::device_failed:
    case ErrorKind::device_lost:
    case ErrorKind::no_device:
      return Blame::device;
    case ErrorKind::device_memory:
    case ErrorKind::unsupported_tier:
    case ErrorKind::too_large:
      return Blame::call;
    default:
      return Blame::caller;
  }
}

Skip why_not_tried(DeviceState& state, const LoadedWeights* weights) {
  if (state.forced.load(std::memory_order_relaxed)) return Skip::forced;
  if (state.lost_error) return Skip::lost;
  if (weights != nullptr && !weights->on_gpu) return Skip::not_loaded;
  if (!state.breaker.needs_time() || state.parts.strict) return Skip::none;
  const bool allowed = state.breaker.allows(state.parts.now());
  state.publish_breaker();
  return allowed ? Skip::none : Skip::breaker;
}

// Written once for each reason, not once for each call.
void tell_skip(DeviceState& state, Skip skip, const LoadedWeights* weights) {
  const void* of = skip == Skip::not_loaded ? weights : nullptr;
  if (state.told_skip == skip && state.told_of == of) return;
  state.told_skip = skip;
  state.told_of = of;
  std::string reason;
  switch (skip) {
    case Skip::none:
      return;
    case Skip::forced:
      reason = "the CPU is forced by choice";
      break;
    case Skip::lost:
      reason = "the device is lost: " + state.lost_error->message;
      break;
    case Skip::not_loaded:
      reason = "the weights are not on the device: " + weights->reason;
      break;
    case Skip::breaker: {
      const std::lock_guard lock(state.text_mutex);
      reason = "the device is left alone after repeated errors, the last: " +
               state.last_gpu_error.value_or("");
      break;
    }
  }
  state.set_text(state.last_fallback, std::move(reason));
}

// Runs one operation on the GPU where it may be tried, else or after its error on the CPU.
template <class OnGpu, class OnCpu>
auto attempt(DeviceState& state, Operation operation, const LoadedWeights* weights, bool& on_gpu,
             OnGpu&& gpu, OnCpu&& cpu) -> decltype(cpu()) {
  const auto start = Clock::now();
  const auto count = [&](bool good) {
    auto& counters = state.counters;
    if (!good) return counters.failed.add(1);
    const int at = static_cast<int>(operation);
    counters.done[at].add(1);
    (on_gpu ? counters.gpu : counters.cpu).add(1);
    if (!on_gpu && state.wants_gpu()) counters.fallbacks.add(1);
    counters.time_ns[at].add(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count()));
  };
  on_gpu = false;
  if (state.gpu() != nullptr) {
    const Skip skip = why_not_tried(state, weights);
    if (skip == Skip::none) {
      auto done = gpu();
      on_gpu = done.has_value();
      if (done) {
        if (state.breaker.state() == BreakerState::half_open) state.told_skip = Skip::none;
        state.breaker.succeeded();
        state.publish_breaker();
        count(true);
        return done;
      }
      const Blame whose = blame(done.error().kind);
      if (whose != Blame::caller) {
        state.note_gpu_error(done.error(), whose == Blame::device);
        state.set_text(state.last_fallback, done.error().message);
        state.told_skip = Skip::none;
      }
      if (whose == Blame::caller || state.parts.strict) {
        count(false);
        return done;
      }
    } else if (skip == Skip::lost && state.parts.strict) {
      count(false);
      return std::unexpected(*state.lost_error);
    } else {
      tell_skip(state, skip, weights);
    }
  }
  auto done = cpu();
  if (!done) state.set_text(state.last_cpu_error, done.error().message);
  count(done.has_value());
  return done;
}

// M rows of activations, as codes or as values.
struct Input {
  const Activations* codes = nullptr;
  const FloatView* values = nullptr;
  std::int64_t rows = 0;
};

Result<void> check_sizes(const LoadedWeights& weights, const Input& input, const OutputView& out) {
  const Shape shape = weights.host.shape();
  const std::size_t element = out.type == OutputType::bf16 ? 2 : 4;
  std::size_t count = 0, bytes = 0;
  if (input.rows < 1)
    return fail(ErrorKind::wrong_size, "a product needs at least one row of activations");
  if (input.codes != nullptr && input.codes->cols() != shape.cols)
    return fail(ErrorKind::wrong_size, "weights of " + to_text(shape) +
                                           " do not fit activations of " +
                                           std::to_string(input.codes->cols()) + " columns");
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
  return {};
}

Result<void> multiply_whole(Backend& backend, const BackendWeights& weights, const Input& input,
                            const OutputView& out) {
  return input.codes != nullptr ? backend.multiply(weights, *input.codes, out)
                                : backend.multiply(weights, *input.values, input.rows, out);
}

OutputView part_of(const OutputView& out, std::size_t first_byte, std::size_t bytes) {
  OutputView part = out;
  part.bytes = out.bytes.subspan(first_byte, bytes);
  return part;
}

// At most `most` rows at a time. All rows are quantised and judged before the first part runs, so
// that a bad value in the last row leaves `out` as it was, as in one call.
Result<void> multiply_parts(Backend& backend, const LoadedWeights& weights, const Input& input,
                            const OutputView& out, std::int64_t most) {
  std::optional<Activations> quantised;
  if (input.codes == nullptr) {
    auto made = Activations::quantise(*input.values, input.rows, weights.host.shape().cols);
    if (!made) return std::unexpected(made.error());
    quantised = std::move(*made);
  }
  const Activations& all = quantised ? *quantised : *input.codes;
  if (out.type != OutputType::int32) {
    float step = 0, scale = 0;
    for (const float s : all.steps()) step = std::max(step, std::fabs(s));
    for (const float s : weights.host.row_scales()) scale = std::max(scale, std::fabs(s));
    if (!std::isfinite(step * scale))
      return fail(ErrorKind::not_finite, "the product of a step and a scale is not finite");
  }
  const std::size_t row_bytes = out.bytes.size() / static_cast<std::size_t>(input.rows);
  std::vector<std::int8_t> codes;
  for (std::int64_t first = 0; first < input.rows; first += most) {
    const std::int64_t rows = std::min(most, input.rows - first);
    codes.clear();
    for (std::int64_t row = first; row < first + rows; ++row)
      codes.insert(codes.end(), all.row(row).begin(), all.row(row).end());
    const auto part = Activations::from_int8(
        codes, rows, all.cols(),
        all.steps().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)));
    if (!part) return std::unexpected(part.error());
    if (auto done = backend.multiply(*weights.on_gpu, *part,
                                     part_of(out, static_cast<std::size_t>(first) * row_bytes,
                                             static_cast<std::size_t>(rows) * row_bytes));
        !done)
      return done;
  }
  return {};
}

std::int64_t rows_that_fit_now(DeviceState& state, LoadedWeights& weights) {
  if (weights.epoch != state.memory_epoch) {
    weights.rows_that_fit = state.rows_that_fit(weights.host.shape());
    weights.epoch = state.memory_epoch;
  }
  return weights.rows_that_fit;
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

Result<void> multiply_any(DeviceState& state, LoadedWeights& weights, const Input& input,
                          const OutputView& out) {
  if (weights.state.get() != &state)
    return fail(ErrorKind::wrong_size, "these weights were loaded by another engine");
  if (auto sizes = check_sizes(weights, input, out); !sizes) return sizes;
  const std::lock_guard lock(state.mutex);
  bool on_gpu = false;
  auto done = attempt(
      state, Operation::product, &weights, on_gpu,
      [&] { return multiply_on_gpu(state, weights, input, out); },
      [&] { return multiply_whole(state.cpu(), *weights.on_cpu, input, out); });
  state.last = {weights.host.shape(), input.rows, on_gpu};
  return done;
}

// What the weights take on a GPU: two bits each in whole tiles, and a scale a row.
std::uint64_t expected_device_bytes(Shape shape) {
  const auto up = [](std::int64_t value, std::uint64_t step) {
    return (static_cast<std::uint64_t>(value) + step - 1) / step;
  };
  return up(shape.rows, 16) * up(shape.cols, 128) * 512 +
         static_cast<std::uint64_t>(shape.rows) * 4;
}

Result<std::unique_ptr<BackendWeights>> load_on_gpu(DeviceState& state,
                                                    const PackedWeights& weights) {
  if (state.lost_error) return std::unexpected(*state.lost_error);
  const auto room = state.budget();
  if (!room) return std::unexpected(room.error());
  const auto no_room = [&](std::uint64_t bytes) {
    return fail(ErrorKind::device_memory, "weights of " + std::to_string(bytes) +
                                              " bytes do not fit the " + std::to_string(*room) +
                                              " that may be taken of the device's memory");
  };
  const std::uint64_t expected = expected_device_bytes(weights.shape());
  if (expected > *room) return no_room(expected);
  auto loaded = state.gpu()->load(weights);
  if (loaded && (*loaded)->bytes() > *room) return no_room((*loaded)->bytes());
  return loaded;
}

}  // namespace

DeviceEngine DeviceEngineMaker::make(EngineParts parts) {
  return DeviceEngine(std::make_shared<DeviceState>(std::move(parts)));
}

Result<DeviceEngine> DeviceEngine::create(const DeviceOptions& options) {
  const auto resolved =
      resolve_options(options, [](const char* name) -> const char* { return std::getenv(name); });
  if (!resolved) return std::unexpected(resolved.error());
  EngineParts parts;
  parts.target = resolved->target;
  parts.strict = resolved->strict;
  parts.forced = resolved->forced;
  parts.memory_limit_bytes = resolved->memory_limit_bytes;
  parts.reserve_bytes = options.reserve_bytes;
  parts.breaker = options.breaker;
  EngineOptions cpu = options.cpu;
  cpu.strict |= parts.strict && cpu.tier.has_value();
  auto backend = make_cpu_backend(cpu);
  if (!backend) return std::unexpected(backend.error());
  parts.cpu = std::move(*backend);
  if (parts.target.kind != TargetKind::cpu && !parts.forced) {
    Discovery found;
    if (const auto variable = faked_by()) {
      found.reasons.push_back(*variable + " is set: what is faked executes nothing");
      if (parts.target.kind == TargetKind::automatic) parts.fallbacks = found.reasons;
    } else {
      found = discover_gpus(parts.target);
    }
    Choice choice = choose_gpu(parts.target, found, options.expected_bytes);
    if (choice.error && parts.strict) return std::unexpected(*choice.error);
    parts.gpu = std::move(choice.gpu);
    parts.fallbacks.insert(parts.fallbacks.end(), choice.fallbacks.begin(), choice.fallbacks.end());
  }
  return DeviceEngineMaker::make(std::move(parts));
}

Result<DeviceWeights> DeviceEngine::load(const PackedWeights& weights) const {
  DeviceState& state = *state_;
  auto loaded = std::make_shared<LoadedWeights>(state_, weights);
  const std::unique_lock lock(state.mutex);
  state.host_weights_bytes.add(weights.bytes());
  auto on_cpu = state.cpu().load(weights);
  if (!on_cpu) return std::unexpected(on_cpu.error());
  loaded->on_cpu = std::move(*on_cpu);
  if (state.gpu() == nullptr) return DeviceWeights(std::move(loaded));
  auto on_gpu = load_on_gpu(state, weights);
  if (on_gpu) {
    loaded->on_gpu = std::move(*on_gpu);
    state.device_weights_bytes.add(loaded->on_gpu->bytes());
    ++state.memory_epoch;
    return DeviceWeights(std::move(loaded));
  }
  if (blame(on_gpu.error().kind) == Blame::caller) return std::unexpected(on_gpu.error());
  state.note_gpu_error(on_gpu.error(), blame(on_gpu.error().kind) == Blame::device);
  if (state.parts.strict) return std::unexpected(on_gpu.error());
  loaded->reason = on_gpu.error().message;
  state.set_text(state.last_fallback, loaded->reason);
  return DeviceWeights(std::move(loaded));
}

Result<DeviceWeights> DeviceEngine::load(const EncodedView& weights, Form form) const {
  const auto packed = PackedWeights::pack(weights, form);
  if (!packed) return std::unexpected(packed.error());
  return load(*packed);
}

Result<void> DeviceEngine::multiply(const DeviceWeights& weights, const Activations& activations,
                                    std::span<std::int32_t> out) const {
  return multiply_any(*state_, *weights.loaded_, {&activations, nullptr, activations.rows()}, out);
}
Result<void> DeviceEngine::multiply(const DeviceWeights& weights, const Activations& activations,
                                    std::span<float> out) const {
  return multiply_any(*state_, *weights.loaded_, {&activations, nullptr, activations.rows()}, out);
}
Result<void> DeviceEngine::multiply_bf16(const DeviceWeights& weights,
                                         const Activations& activations,
                                         std::span<std::uint16_t> out) const {
  return multiply_any(*state_, *weights.loaded_, {&activations, nullptr, activations.rows()}, out);
}
Result<void> DeviceEngine::multiply(const DeviceWeights& weights, const FloatView& activations,
                                    std::int64_t rows, std::span<std::int32_t> out) const {
  return multiply_any(*state_, *weights.loaded_, {nullptr, &activations, rows}, out);
}
Result<void> DeviceEngine::multiply(const DeviceWeights& weights, const FloatView& activations,
                                    std::int64_t rows, std::span<float> out) const {
  return multiply_any(*state_, *weights.loaded_, {nullptr, &activations, rows}, out);
}
Result<void> DeviceEngine::multiply_bf16(const DeviceWeights& weights, const FloatView& activations,
                                         std::int64_t rows, std::span<std::uint16_t> out) const {
  return multiply_any(*state_, *weights.loaded_, {nullptr, &activations, rows}, out);
}

Result<Encoded> DeviceEngine::quantise(const FloatView& weights, Shape shape, FormatId to,
                                       const QuantiseOptions& options) const {
  const std::lock_guard lock(state_->mutex);
  bool on_gpu = false;
  return attempt(
      *state_, Operation::quantisation, nullptr, on_gpu,
      [&] { return state_->gpu()->quantise(weights, shape, to, options); },
      [&] { return state_->cpu().quantise(weights, shape, to, options); });
}

std::int64_t DeviceEngine::batch_rows_that_fit(const DeviceWeights& weights) const {
  const std::lock_guard lock(state_->mutex);
  if (!weights.loaded_->on_gpu || state_->lost_error)
    return std::numeric_limits<std::int64_t>::max();
  ++state_->memory_epoch;
  return rows_that_fit_now(*state_, *weights.loaded_);
}

}  // namespace gpuready::ternary
