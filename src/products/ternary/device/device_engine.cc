// DeviceEngine: what it is made of, and its calls.
#include <cstdlib>
#include <limits>

#include "ternary/device/choose.h"
#include "ternary/device/cpu_backend.h"
#include "ternary/device/device_product.h"
#include "ternary/device/fallback.h"
#include "ternary/shape.h"

namespace gpuready::ternary {

using detail::blame;
using detail::Blame;
using detail::DeviceState;
using detail::LoadedWeights;
using detail::Operation;

namespace {

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
  const auto room = TRY(state.budget());
  const auto no_room = [&](std::uint64_t bytes) {
    return fail(ErrorKind::device_memory, "weights of " + std::to_string(bytes) +
                                              " bytes do not fit the " + std::to_string(room) +
                                              " that may be taken of the device's memory");
  };
  const std::uint64_t expected = expected_device_bytes(weights.shape());
  if (expected > room) return no_room(expected);
  auto loaded = state.gpu()->load(weights);
  if (loaded && (*loaded)->bytes() > room) return no_room((*loaded)->bytes());
  return loaded;
}

}  // namespace

DeviceEngine detail::DeviceEngineMaker::make(EngineParts parts) {
  return DeviceEngine(std::make_shared<DeviceState>(std::move(parts)));
}

Result<DeviceEngine> DeviceEngine::create(const DeviceOptions& options) {
  const auto resolved = TRY(
      resolve_options(options, [](const char* name) -> const char* { return std::getenv(name); }));
  EngineParts parts;
  parts.target = resolved.target;
  parts.strict = resolved.strict;
  parts.forced = resolved.forced;
  parts.memory_limit_bytes = resolved.memory_limit_bytes;
  parts.reserve_bytes = options.reserve_bytes;
  parts.breaker = options.breaker;
  EngineOptions cpu = options.cpu;
  cpu.strict |= parts.strict;  // also for a tier that the environment names
  auto engine = TRY(CpuEngine::create(cpu));
  parts.fallbacks = engine.fallbacks();
  parts.cpu = make_cpu_backend(std::move(engine));
  const auto choose = [target = parts.target, expected = options.expected_bytes] {
    const auto variable = faked_by();
    if (!variable) return choose_gpu(target, discover_gpus(target), expected);
    const std::string reason = *variable + " is set: what is faked executes nothing";
    Choice choice = choose_gpu(target, {{}, {reason}, {}}, expected);
    if (target.kind == TargetKind::automatic) choice.fallbacks.push_back(reason);
    return choice;
  };
  if (parts.target.kind != TargetKind::cpu && parts.forced) {
    parts.open_gpu = [choose](std::vector<std::string>& fallbacks) {
      Choice choice = choose();
      fallbacks = std::move(choice.fallbacks);
      return std::move(choice.gpu);
    };
  } else if (parts.target.kind != TargetKind::cpu) {
    Choice choice = choose();
    if (choice.error && parts.strict) return std::unexpected(*choice.error);
    parts.gpu = std::move(choice.gpu);
    parts.fallbacks.insert(parts.fallbacks.end(), choice.fallbacks.begin(), choice.fallbacks.end());
  }
  return detail::DeviceEngineMaker::make(std::move(parts));
}

Result<DeviceWeights> DeviceEngine::load(const PackedWeights& weights) const {
  DeviceState& state = *state_;
  TRY(state.check_process());
  auto loaded = std::make_shared<LoadedWeights>(state_, weights);
  std::unique_lock lock(state.mutex, std::defer_lock);
  if (!state.forked()) lock.lock();
  loaded->on_cpu = TRY(state.cpu().load(weights));
  if (state.gpu() == nullptr) {
    if (state.parts.open_gpu) loaded->reason = "they were loaded while the CPU was forced";
    return DeviceWeights(std::move(loaded));
  }
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
  const auto packed = TRY(PackedWeights::pack(weights, form));
  return load(packed);
}

Result<void> DeviceEngine::multiply(const DeviceWeights& weights, const Activations& activations,
                                    std::span<std::int32_t> out) const {
  return detail::multiply(*state_, *weights.loaded_, {&activations, nullptr, activations.rows()},
                          out);
}
Result<void> DeviceEngine::multiply(const DeviceWeights& weights, const Activations& activations,
                                    std::span<float> out) const {
  return detail::multiply(*state_, *weights.loaded_, {&activations, nullptr, activations.rows()},
                          out);
}
Result<void> DeviceEngine::multiply_bf16(const DeviceWeights& weights,
                                         const Activations& activations,
                                         std::span<std::uint16_t> out) const {
  return detail::multiply(*state_, *weights.loaded_, {&activations, nullptr, activations.rows()},
                          out);
}
Result<void> DeviceEngine::multiply(const DeviceWeights& weights, const FloatView& activations,
                                    std::int64_t rows, std::span<std::int32_t> out) const {
  return detail::multiply(*state_, *weights.loaded_, {nullptr, &activations, rows}, out);
}
Result<void> DeviceEngine::multiply(const DeviceWeights& weights, const FloatView& activations,
                                    std::int64_t rows, std::span<float> out) const {
  return detail::multiply(*state_, *weights.loaded_, {nullptr, &activations, rows}, out);
}
Result<void> DeviceEngine::multiply_bf16(const DeviceWeights& weights, const FloatView& activations,
                                         std::int64_t rows, std::span<std::uint16_t> out) const {
  return detail::multiply(*state_, *weights.loaded_, {nullptr, &activations, rows}, out);
}

Result<void> DeviceEngine::multiply(const DeviceWeights& weights, const Activations& activations,
                                    FloatType type, std::span<std::byte> out,
                                    const Addends& addends) const {
  TRY(check_type(type));
  return detail::multiply(*state_, *weights.loaded_, {&activations, nullptr, activations.rows()},
                          {output_of(type), out, addends});
}
Result<void> DeviceEngine::multiply(const DeviceWeights& weights, const FloatView& activations,
                                    std::int64_t rows, FloatType type, std::span<std::byte> out,
                                    const Addends& addends) const {
  TRY(check_type(type));
  return detail::multiply(*state_, *weights.loaded_, {nullptr, &activations, rows},
                          {output_of(type), out, addends});
}

Result<Encoded> DeviceEngine::quantise(const FloatView& weights, Shape shape, FormatId to,
                                       const QuantiseOptions& options) const {
  TRY(state_->check_process());
  if (state_->forked()) return state_->cpu().quantise(weights, shape, to, options);
  const std::lock_guard lock(state_->mutex);
  bool on_gpu = false;
  return detail::attempt(
      *state_, Operation::quantisation, nullptr, on_gpu,
      [&] { return state_->gpu()->quantise(weights, shape, to, options); },
      [&] { return state_->cpu().quantise(weights, shape, to, options); });
}

std::int64_t DeviceEngine::batch_rows_that_fit(const DeviceWeights& weights) const {
  if (state_->forked()) return 0;
  const std::lock_guard lock(state_->mutex);
  if (!weights.loaded_->on_gpu || state_->lost_error)
    return std::numeric_limits<std::int64_t>::max();
  ++state_->memory_epoch;
  return detail::rows_that_fit_now(*state_, *weights.loaded_);
}

}  // namespace gpuready::ternary
