// What stands behind DeviceEngine and DeviceWeights.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>

#include "base/forks.h"
#include "base/result.h"
#include "gpuready/ternary_device.h"
#include "ternary/device/backend.h"
#include "ternary/device/engine_parts.h"

namespace gpuready::ternary::detail {

// When a device that fails is not used, and when it is tried again. Not for several threads at
// once.
class CircuitBreaker {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit CircuitBreaker(const BreakerOptions& options) : options_(options) {}

  BreakerState state() const { return state_; }
  std::uint64_t trips() const { return trips_; }
  void reset_trips() { trips_ = 0; }
  // Whether the clock is of interest to the next allows().
  bool needs_time() const { return state_ == BreakerState::open; }

  // Whether the device may be tried for the next call; one that may not is counted as left out.
  bool allows(Time now) {
    if (state_ != BreakerState::open) return true;
    if (left_out_ < options_.retry_calls && now - opened_ < options_.cool_down) {
      ++left_out_;
      return false;
    }
    state_ = BreakerState::half_open;
    return true;
  }
  void succeeded() {
    in_a_row_ = 0;
    state_ = BreakerState::closed;
  }
  void failed(Time now) {
    ++in_a_row_;
    if (options_.errors == 0) return;
    if (state_ != BreakerState::half_open && in_a_row_ < options_.errors) return;
    if (state_ == BreakerState::closed) ++trips_;
    state_ = BreakerState::open;
    opened_ = now;
    left_out_ = 0;
  }

 private:
  BreakerOptions options_;
  BreakerState state_ = BreakerState::closed;
  unsigned in_a_row_ = 0;
  std::uint64_t left_out_ = 0, trips_ = 0;
  Time opened_{};
};

// Written by whoever holds DeviceState::mutex, read by anyone: statistics wait for no product.
template <class T>
class Shared {
 public:
  Shared() = default;
  T get() const { return value_.load(std::memory_order_relaxed); }
  void set(T value) { value_.store(value, std::memory_order_relaxed); }
  void add(T value) { set(get() + value); }  // no locked instruction: there is one writer

 private:
  std::atomic<T> value_{};
};

enum class Operation { quantisation, product };
inline constexpr int kOperations = 2;

struct Counters {
  Shared<std::uint64_t> done[kOperations], time_ns[kOperations];
  Shared<std::uint64_t> gpu, cpu, failed, fallbacks, device_errors;
};

// Why a call is not tried on the GPU that is there.
enum class Skip { none, forced, lost, not_loaded, breaker };

struct DeviceState {
  EngineParts parts;
  // Calls of the backends, and what follows, are made by one thread at a time.
  std::mutex mutex;
  CircuitBreaker breaker;
  std::optional<Error> lost_error;
  // Raised whenever memory of the device was taken or given: cached limits are then stale.
  std::uint64_t memory_epoch = 1;
  Skip told_skip = Skip::none;
  const void* told_of = nullptr;
  struct {
    Shape shape;
    std::int64_t rows = 0;
    bool on_gpu = false, grouped = false;
  } last;

  Counters counters;
  std::atomic<bool> forced;
  std::atomic<Backend*> gpu_now;  // parts.gpu
  unsigned made_at_fork = fork_count();
  Shared<BreakerState> breaker_state;
  Shared<std::uint64_t> breaker_trips, device_weights_bytes, host_weights_bytes;
  Shared<std::uint64_t> device_free_bytes, device_total_bytes;
  Shared<bool> lost;

  // How many loaded weights share packed ones, which take their memory once.
  std::map<const detail::CpuWeights*, unsigned> shared_weights;

  std::mutex text_mutex;  // also of parts.fallbacks and kernels
  std::vector<KernelStats> kernels;
  std::optional<std::string> last_gpu_error, last_cpu_error, last_fallback;

  explicit DeviceState(EngineParts p);
  Backend& cpu() { return *parts.cpu; }
  ~DeviceState();
  Backend* gpu() const { return gpu_now.load(std::memory_order_acquire); }
  void open_gpu();
  // A forked process has none of the threads, a lock that one held stays held, and a GPU's
  // driver does not work in it. There an engine without a GPU works on the caller's thread, without
  // locks and statistics, and one with a GPU fails.
  bool forked() const { return made_at_fork != fork_count(); }
  Result<void> check_process() const;
  bool wants_gpu() const {
    return gpu() != nullptr || parts.open_gpu || parts.target.kind == TargetKind::cuda ||
           parts.target.kind == TargetKind::vulkan;
  }
  void set_text(std::optional<std::string>& text, std::string value) {
    const std::lock_guard lock(text_mutex);
    text = std::move(value);
  }
  void count_product(std::string_view kernel, std::uint64_t ns);
  // The rest needs `mutex`.
  void publish_breaker() {
    breaker_state.set(breaker.state());
    breaker_trips.set(breaker.trips());
  }
  std::string_view last_kernel();  // of the last product
  void note_gpu_error(const Error& error, bool counts);
  Result<BackendMemory> read_memory();
  // Bytes of the device that this engine may still take.
  Result<std::uint64_t> budget();
  std::int64_t rows_that_fit(Shape shape);
};

struct LoadedWeights {
  std::shared_ptr<DeviceState> state;
  PackedWeights host;
  std::unique_ptr<BackendWeights> on_cpu, on_gpu = nullptr;
  std::string reason = {};
  // Guarded by the state's mutex.
  std::int64_t rows_that_fit = 0;
  std::uint64_t epoch = 0;

  LoadedWeights(std::shared_ptr<DeviceState> s, PackedWeights w);
  LoadedWeights(const LoadedWeights&) = delete;
  LoadedWeights& operator=(const LoadedWeights&) = delete;
  ~LoadedWeights();
};

}  // namespace gpuready::ternary::detail
