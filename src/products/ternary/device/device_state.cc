#include "ternary/device/device_state.h"

#include <algorithm>
#include <limits>

namespace gpuready::ternary::detail {

DeviceState::DeviceState(EngineParts p)
    : parts(std::move(p)), breaker(parts.breaker), forced(parts.forced), gpu_now(parts.gpu.get()) {}

DeviceState::~DeviceState() {
  if (forked()) (void)parts.gpu.release();
}

void DeviceState::open_gpu() {
  if (!parts.open_gpu) return;
  std::vector<std::string> reasons;
  parts.gpu = parts.open_gpu(reasons);
  parts.open_gpu = nullptr;
  gpu_now.store(parts.gpu.get(), std::memory_order_release);
  const std::lock_guard lock(text_mutex);
  parts.fallbacks.insert(parts.fallbacks.end(), reasons.begin(), reasons.end());
}

Result<void> DeviceState::check_process() const {
  if (!forked() || gpu() == nullptr) return {};
  return fail(ErrorKind::unsupported,
              "this engine has a GPU and was made before the process forked; make one in the new "
              "process");
}

void DeviceState::count_product(std::string_view kernel, std::uint64_t ns) {
  const std::lock_guard lock(text_mutex);
  auto found = std::ranges::find(kernels, kernel, &KernelStats::kernel);
  if (found == kernels.end()) found = kernels.insert(found, {std::string(kernel)});
  ++found->calls;
  found->time_ms += static_cast<double>(ns) * 1e-6;
}

std::string_view DeviceState::last_kernel() {
  Backend& backend = last.on_gpu ? *gpu() : cpu();
  return last.grouped ? backend.grouped_kernel(last.shape, last.rows)
                      : backend.kernel_for(last.shape, last.rows);
}

void DeviceState::note_gpu_error(const Error& error, bool counts) {
  set_text(last_gpu_error, error.message);
  counters.device_errors.add(1);
  if (error.kind == ErrorKind::device_lost) {
    lost_error = error;
    lost.set(true);
  }
  if (counts) {
    breaker.failed(parts.now());
    publish_breaker();
  }
}

Result<BackendMemory> DeviceState::read_memory() {
  auto memory = gpu()->memory();
  if (memory) {
    device_free_bytes.set(memory->free_bytes);
    device_total_bytes.set(memory->total_bytes);
  }
  return memory;
}

Result<std::uint64_t> DeviceState::budget() {
  const auto memory = TRY(read_memory());
  const auto less = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; };
  std::uint64_t bytes = less(memory.free_bytes, parts.reserve_bytes);
  if (parts.memory_limit_bytes)
    bytes = std::min(bytes, less(*parts.memory_limit_bytes, device_weights_bytes.get()));
  return bytes;
}

std::int64_t DeviceState::rows_that_fit(Shape shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  const auto bytes = budget();
  if (!bytes) {  // the product itself will tell what is wrong
    note_gpu_error(bytes.error(), false);
    return kMost;
  }
  const auto fits = [&](std::int64_t rows) {
    return gpu()->workspace_bytes(shape, rows) <= *bytes;
  };
  std::int64_t low = 0, high = 1;
  while (high < kMost && fits(high)) low = high, high *= 2;
  if (high >= kMost) return kMost;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

LoadedWeights::LoadedWeights(std::shared_ptr<DeviceState> s, PackedWeights w)
    : state(std::move(s)), host(std::move(w)) {
  if (state->forked()) return;
  const std::lock_guard lock(state->mutex);
  if (++state->shared_weights[&host.cpu()] == 1) state->host_weights_bytes.add(host.bytes());
}

LoadedWeights::~LoadedWeights() {
  if (state->forked()) {
    (void)on_gpu.release();
    return;
  }
  const std::lock_guard lock(state->mutex);
  if (const auto found = state->shared_weights.find(&host.cpu()); --found->second == 0) {
    state->shared_weights.erase(found);
    state->host_weights_bytes.add(-static_cast<std::uint64_t>(host.bytes()));
  }
  if (!on_gpu) return;
  state->device_weights_bytes.add(-static_cast<std::uint64_t>(on_gpu->bytes()));
  ++state->memory_epoch;
  on_gpu.reset();
}

}  // namespace gpuready::ternary::detail
