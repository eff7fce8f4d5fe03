// What an engine reports about itself.
#include <algorithm>

#include "base/units.h"
#include "ternary/device/device_state.h"
#include "ternary/device/host_memory.h"

namespace gpuready::ternary {

using detail::Operation;

namespace {

std::optional<double> average(double total, std::uint64_t count) {
  if (count == 0) return std::nullopt;
  return total / static_cast<double>(count);
}

std::string plural(std::uint64_t count, std::string_view one) {
  return std::to_string(count) + " " + std::string(one) + (count == 1 ? "" : "s");
}

}  // namespace

std::string_view v0::to_string(BreakerState state) {
  constexpr std::string_view kNames[] = {"closed", "open", "half-open"};
  const auto index = static_cast<std::size_t>(state);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

std::optional<double> DeviceStats::avg_quantization_time_ms() const {
  return average(quantization_time_ms, quantization_operations);
}
std::optional<double> DeviceStats::avg_matmul_time_ms() const {
  return average(matmul_time_ms, matmul_operations);
}

std::string DeviceStats::summary() const {
  std::string text = device_type + " (" + device_name + ", asked for " + to_string(target_device) +
                     "): " + plural(total_operations, "operation");
  const auto part = [&](std::string_view name, std::uint64_t count, std::optional<double> ms) {
    if (ms) text += ", " + plural(count, name) + " of " + format_duration_ms(*ms) + " on average";
  };
  part("quantization", quantization_operations, avg_quantization_time_ms());
  part("product", matmul_operations, avg_matmul_time_ms());
  if (gpu_efficiency) text += ", GPU efficiency " + format_percent(*gpu_efficiency);
  text += ", " + plural(fallback_count, "fallback");
  if (failed_operations > 0) text += ", " + std::to_string(failed_operations) + " failed";
  if (device_lost)
    text += ", device lost";
  else if (breaker != BreakerState::closed)
    text += ", breaker " + std::string(to_string(breaker));
  if (device_memory_used_bytes && device_memory_total_bytes)
    text += ", device memory " + format_bytes(*device_memory_used_bytes) + " of " +
            format_bytes(*device_memory_total_bytes);
  if (memory_used_bytes && memory_total_bytes && *memory_total_bytes > 0)
    text += ", host memory " + format_bytes(*memory_used_bytes) + " of " +
            format_bytes(*memory_total_bytes) + " (" +
            format_percent(static_cast<double>(*memory_used_bytes) /
                           static_cast<double>(*memory_total_bytes)) +
            ")";
  return text;
}

Shape DeviceWeights::shape() const { return loaded_->host.shape(); }
bool DeviceWeights::on_device() const { return loaded_->on_gpu != nullptr; }
std::uint64_t DeviceWeights::device_bytes() const {
  return loaded_->on_gpu ? loaded_->on_gpu->bytes() : 0;
}
const std::string& DeviceWeights::fallback_reason() const { return loaded_->reason; }
const PackedWeights& DeviceWeights::host() const { return loaded_->host; }

std::string DeviceEngine::active_kernel() const {
  if (state_->forked()) return {};
  const std::lock_guard lock(state_->mutex);
  if (state_->last.rows > 0) return std::string(state_->last_kernel());
  Backend& backend = is_gpu_active() ? *state_->gpu() : state_->cpu();
  return std::string(backend.kernel_for({4096, 4096}, 1));
}

std::string DeviceEngine::kernel_for(const DeviceWeights& weights, std::int64_t rows) const {
  if (state_->forked()) return {};
  const std::lock_guard lock(state_->mutex);
  Backend& backend = weights.on_device() && is_gpu_active() ? *state_->gpu() : state_->cpu();
  return std::string(weights.host().scale_group() == 0
                         ? backend.kernel_for(weights.shape(), rows)
                         : backend.grouped_kernel(weights.shape(), rows));
}

bool DeviceEngine::is_gpu_active() const {
  return state_->gpu() != nullptr && !state_->forced.load(std::memory_order_relaxed) &&
         !state_->lost.get() && state_->breaker_state.get() != BreakerState::open;
}

std::string DeviceEngine::device_id() const {
  return (is_gpu_active() ? *state_->gpu() : state_->cpu()).info().id;
}

std::vector<std::string> DeviceEngine::fallbacks() const {
  if (state_->forked()) return {};
  const std::lock_guard lock(state_->text_mutex);
  return state_->parts.fallbacks;
}

void DeviceEngine::force_cpu_fallback(bool forced) const {
  if (state_->forked()) return;
  if (!forced) {
    const std::lock_guard lock(state_->mutex);
    state_->open_gpu();
  }
  state_->forced.store(forced, std::memory_order_relaxed);
}

DeviceStats DeviceEngine::stats() const {
  detail::DeviceState& state = *state_;
  DeviceStats stats;
  const Backend& now = is_gpu_active() ? *state.gpu() : state.cpu();
  stats.device_type = to_string(now.info().kind);
  stats.device_name = now.info().name;
  stats.target_device = state.parts.target;
  const auto& counters = state.counters;
  const auto count = [&](Operation o) { return counters.done[static_cast<int>(o)].get(); };
  const auto time_ms = [&](Operation o) {
    return static_cast<double>(counters.time_ns[static_cast<int>(o)].get()) * 1e-6;
  };
  stats.quantization_operations = count(Operation::quantisation);
  stats.matmul_operations = count(Operation::product);
  stats.total_operations = stats.quantization_operations + stats.matmul_operations;
  stats.quantization_time_ms = time_ms(Operation::quantisation);
  stats.matmul_time_ms = time_ms(Operation::product);
  stats.total_time_ms = stats.quantization_time_ms + stats.matmul_time_ms;
  stats.gpu_operations = counters.gpu.get();
  stats.cpu_operations = counters.cpu.get();
  stats.failed_operations = counters.failed.get();
  stats.fallback_count = counters.fallbacks.get();
  stats.device_errors = counters.device_errors.get();
  if (const auto all = stats.gpu_operations + stats.cpu_operations; all > 0)
    stats.gpu_efficiency = static_cast<double>(stats.gpu_operations) / static_cast<double>(all);
  stats.breaker = state.breaker_state.get();
  stats.breaker_trips = state.breaker_trips.get();
  stats.device_lost = state.lost.get();
  stats.device_weights_bytes = state.device_weights_bytes.get();
  stats.host_weights_bytes = state.host_weights_bytes.get();
  if (!state.forked()) {
    const std::lock_guard lock(state.text_mutex);
    stats.kernels = state.kernels;
    stats.last_gpu_error = state.last_gpu_error;
    stats.last_cpu_error = state.last_cpu_error;
    stats.last_fallback_reason = state.last_fallback;
  }
  if (const auto host = host_memory()) {
    stats.memory_used_bytes = host->used_bytes;
    stats.memory_total_bytes = host->total_bytes;
  }
  if (state.gpu() != nullptr && !state.forked()) {
    // While a product runs its thread has the device: then what it told last.
    if (const std::unique_lock lock(state.mutex, std::try_to_lock); lock && !state.lost_error)
      (void)state.read_memory();
    if (const auto total = state.device_total_bytes.get(); total > 0) {
      stats.device_memory_total_bytes = total;
      stats.device_memory_used_bytes = total - std::min(total, state.device_free_bytes.get());
    }
  }
  return stats;
}

void DeviceEngine::reset_stats() const {
  if (state_->forked()) return;
  const std::lock_guard lock(state_->mutex);
  auto& counters = state_->counters;
  for (auto* each : {&counters.done[0], &counters.done[1], &counters.time_ns[0],
                     &counters.time_ns[1], &counters.gpu, &counters.cpu, &counters.failed,
                     &counters.fallbacks, &counters.device_errors})
    each->set(0);
  state_->breaker.reset_trips();
  state_->publish_breaker();
  state_->told_skip = detail::Skip::none;
  const std::lock_guard texts(state_->text_mutex);
  state_->kernels.clear();
  state_->last_gpu_error.reset();
  state_->last_cpu_error.reset();
  state_->last_fallback.reset();
}

}  // namespace gpuready::ternary
