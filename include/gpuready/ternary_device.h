// Ternary weights on the best device of this machine: one engine that packs once, multiplies and
// quantises on a GPU or the CPU with the same bits, and falls back to the CPU visibly.
//
//   auto engine = DeviceEngine::create();                    // Result<DeviceEngine>
//   auto weights = engine->load(packed);                     // once; N x K
//   engine->multiply(*weights, activations, std::span(out)); // M x K times K x N, out is M x N
//   puts(engine->stats().summary().c_str());
//
// An error of the caller's (wrong_size, not_finite, ...) is returned as it is. An error of the
// device's (device_memory, device, device_lost, or something that it cannot do) is recorded
// and the CPU does the call, unless the engine is strict: then it is returned, and what `out` holds
// is not defined. A device that is lost is never tried again.
//
// Every function may be called from any thread. Products and quantisations on one engine are made
// one after the other, each by all the threads that it is worth; a second engine works at the same
// time, and shares the first one's threads where both have one EngineOptions::pool. StopScope ends
// calls early. In a process that was forked later an engine without a GPU works on the caller's
// thread, also where the CPU was forced from the beginning, and one with a GPU gives an
// `unsupported` error: drivers do not work there. A layer on CpuEngine that costs less than a
// microsecond a call (benchmarks/ternary_layer.cc).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/ternary.h"

namespace gpuready::ternary {
namespace detail {
struct DeviceState;
struct LoadedWeights;
struct DeviceEngineMaker;
}  // namespace detail

inline namespace v0 {

enum class TargetKind { automatic, cpu, cuda, vulkan };
std::string_view to_string(TargetKind kind);

// What a caller wants the work to be done on.
struct Target {
  TargetKind kind = TargetKind::automatic;
  // Of a GPU: its UUID, or its index among those of its kind that this process sees; empty: the
  // best of its kind.
  std::string id;
  bool operator==(const Target&) const = default;
};
// "auto", "cpu", "cuda", "cuda:0", "cuda:GPU-6fc1...", "vulkan", "vulkan:<device UUID>".
Result<Target> parse_target(std::string_view text);
std::string to_string(const Target& target);

// After this many consecutive errors the device is not used, and is tried again (with one call)
// when that many calls went to the CPU instead or that much time has passed.
struct BreakerOptions {
  unsigned errors = 3;  // 0: the device is tried for every call
  std::uint64_t retry_calls = 1000;
  std::chrono::milliseconds cool_down{30'000};
};

struct DeviceOptions {
  // Default: GPUREADY_TERNARY_DEVICE where set, else automatic: CUDA before Vulkan, then the newest
  // generation of kernels; the first of these that has `expected_bytes` and three quarters of its
  // memory free, else the one with the most free. Software Vulkan devices are taken only when they
  // are named by UUID. Where GPUREADY_FAKE or BITNET_GPU_FAKE claims backends no GPU is used at
  // all: what is faked executes nothing. A GPU's driver is loaded into this process;
  // TargetKind::cpu touches none.
  std::optional<Target> target;
  // Errors of the device are returned, never worked around. Default: GPUREADY_TERNARY_STRICT=1.
  std::optional<bool> strict;
  // Everything runs on the CPU, and no driver is loaded until force_cpu_fallback(false) is called.
  // Default: GPUREADY_TERNARY_FORCE_CPU=1.
  std::optional<bool> force_cpu_fallback;
  // Device memory for weights and workspaces together. Default: GPUREADY_TERNARY_MEMORY_LIMIT
  // (bytes, or with K, M, G in powers of 1024), else what is free there less `reserve_bytes`.
  std::optional<std::uint64_t> memory_limit_bytes;
  std::uint64_t reserve_bytes = std::uint64_t{64} << 20;  // of the device's memory, left to others
  std::uint64_t expected_bytes = 0;  // of weights that will be loaded, for the automatic choice
  BreakerOptions breaker;
  EngineOptions cpu;  // tier and threads of the CPU's part
};

enum class BreakerState { closed, open, half_open };
std::string_view to_string(BreakerState state);

// The products that one kernel computed, on this host's clock, with copies and failed tries.
struct KernelStats {
  std::string kernel;  // as DeviceEngine::kernel_for() names it
  std::uint64_t calls = 0;
  double time_ms = 0;
};

// Counted since the engine was made, or since reset_stats().
struct DeviceStats {
  std::string device_type;  // where a call runs now: "cuda", "vulkan", "cpu"
  std::string device_name;  // "NVIDIA H200"
  Target target_device;     // what was asked for

  std::uint64_t total_operations = 0;  // that gave a result: the two below
  std::uint64_t quantization_operations = 0, matmul_operations = 0;
  double total_time_ms = 0;  // on this host's clock, with copies, failed tries and fallbacks
  double quantization_time_ms = 0, matmul_time_ms = 0;
  std::vector<KernelStats> kernels;  // in the order of their first products
  std::uint64_t gpu_operations = 0, cpu_operations = 0;
  std::uint64_t failed_operations = 0;  // that returned an error, the caller's too
  // Operations that a GPU was meant to do and the CPU did.
  std::uint64_t fallback_count = 0;
  // gpu_operations / total_operations; empty before the first.
  std::optional<double> gpu_efficiency;
  std::optional<std::string> last_gpu_error, last_cpu_error;
  std::optional<std::string> last_fallback_reason;

  // Of the host, when asked: MemTotal less MemAvailable, and MemTotal.
  std::optional<std::uint64_t> memory_used_bytes, memory_total_bytes;
  // Of the device, as its driver told last; empty for the CPU.
  std::optional<std::uint64_t> device_memory_used_bytes, device_memory_total_bytes;
  std::uint64_t device_weights_bytes = 0;  // of this engine's weights there
  // Of their packed host form, kept for the fallback; what several of them share counts once.
  std::uint64_t host_weights_bytes = 0;

  std::uint64_t device_errors = 0;
  BreakerState breaker = BreakerState::closed;
  std::uint64_t breaker_trips = 0;
  bool device_lost = false;

  // One line: device, operations, efficiency, fallbacks, average times, memory with percentage.
  std::string summary() const;
  bool is_gpu_effective() const { return gpu_efficiency && *gpu_efficiency > 0.8; }
  // Empty before the first operation of that kind.
  std::optional<double> avg_quantization_time_ms() const;
  std::optional<double> avg_matmul_time_ms() const;
};

// Weights that an engine loaded: on its device, and in the packed host form. Cheap to copy and
// shared between threads; gives the device's memory back with the last copy. Keeps the engine's
// device open.
class DeviceWeights {
 public:
  Shape shape() const;
  bool on_device() const;              // of a GPU
  std::uint64_t device_bytes() const;  // that they take there
  // Why they are on the CPU though the engine has a GPU; empty when they are not.
  const std::string& fallback_reason() const;
  const PackedWeights& host() const;

 private:
  friend class DeviceEngine;
  explicit DeviceWeights(std::shared_ptr<detail::LoadedWeights> loaded)
      : loaded_(std::move(loaded)) {}
  std::shared_ptr<detail::LoadedWeights> loaded_;
};

class DeviceEngine {
 public:
  // Errors: no_device where the engine is strict, and the target that was named is not there or a
  // driver fails; not otherwise (fallbacks() tells). unsupported_tier where a strict engine cannot
  // have the tier that the options or GPUREADY_TERNARY_TIER name. Wrong values of the environment's
  // variables are bad_input errors that name them.
  static Result<DeviceEngine> create(const DeviceOptions& options = {});

  // Loads weights (N x K) once. Where the device has no room or fails, they stay on the CPU and
  // fallback_reason() tells why; with a strict engine that is an error.
  Result<DeviceWeights> load(const PackedWeights& weights) const;
  Result<DeviceWeights> load(const EncodedView& weights, Form form = Form::two_bit) const;

  // out[m * N + n], exactly as CpuEngine::multiply(): the same bits on every device. A product
  // whose workspace does not fit is done in several parts of rows.
  Result<void> multiply(const DeviceWeights& weights, const Activations& activations,
                        std::span<std::int32_t> out) const;
  Result<void> multiply(const DeviceWeights& weights, const Activations& activations,
                        std::span<float> out) const;
  Result<void> multiply_bf16(const DeviceWeights& weights, const Activations& activations,
                             std::span<std::uint16_t> out) const;
  // From rows x K values, quantised a row each as Activations::quantise() does, on the device.
  Result<void> multiply(const DeviceWeights& weights, const FloatView& activations,
                        std::int64_t rows, std::span<std::int32_t> out) const;
  Result<void> multiply(const DeviceWeights& weights, const FloatView& activations,
                        std::int64_t rows, std::span<float> out) const;
  Result<void> multiply_bf16(const DeviceWeights& weights, const FloatView& activations,
                             std::int64_t rows, std::span<std::uint16_t> out) const;
  // In each type and with what is added, as CpuEngine::multiply() has it.
  Result<void> multiply(const DeviceWeights& weights, const Activations& activations,
                        FloatType type, std::span<std::byte> out,
                        const Addends& addends = {}) const;
  Result<void> multiply(const DeviceWeights& weights, const FloatView& activations,
                        std::int64_t rows, FloatType type, std::span<std::byte> out,
                        const Addends& addends = {}) const;

  // As gpuready::ternary::quantise(), the same bytes, on the device.
  Result<Encoded> quantise(const FloatView& weights, Shape shape, FormatId to,
                           const QuantiseOptions& options = {}) const;

  // The most activation rows whose product with these weights fits the device's memory now, beside
  // what is loaded; the greatest std::int64_t on the CPU, 0 when not even one fits.
  std::int64_t batch_rows_that_fit(const DeviceWeights& weights) const;

  // The kernel that the last product took, or that a product of one row would take where there was
  // none yet: "avx512-vnni", "dp4a-gemv".
  std::string active_kernel() const;
  std::string kernel_for(const DeviceWeights& weights, std::int64_t rows) const;
  bool is_gpu_active() const;     // whether the next call is tried on a GPU
  std::string device_id() const;  // "cuda:GPU-6fc1...", "cpu"
  // Why the device that was asked for, a GPU whose driver is installed but fails, or a better CPU
  // tier was not taken; one sentence each.
  std::vector<std::string> fallbacks() const;

  // From now on, the CPU only (or the device again): a choice, but counted as fallbacks. Weights
  // that were loaded while the CPU was forced from the beginning stay there.
  void force_cpu_fallback(bool forced = true) const;
  DeviceStats stats() const;
  void reset_stats() const;

 private:
  friend struct detail::DeviceEngineMaker;
  explicit DeviceEngine(std::shared_ptr<detail::DeviceState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::DeviceState> state_;
};

}  // namespace v0
}  // namespace gpuready::ternary
