// An operation is tried on the device, where that may be tried, and done by the CPU where the
// device could not.
#pragma once

#include <chrono>

#include "ternary/device/device_state.h"

namespace gpuready::ternary::detail {

// What an error of a GPU's backend means for the call.
enum class Blame {
  caller,  // the CPU would say the same
  call,    // this call does not suit the device; another may
  device,  // counts for the breaker
};
Blame blame(ErrorKind kind);

// Whether the GPU is tried at all. It needs `weights` there (none when quantising).
Skip why_not_tried(DeviceState& state, const LoadedWeights* weights);
// Writes down the reason of a fallback: once for each, not once for each call.
void tell_skip(DeviceState& state, Skip skip, const LoadedWeights* weights);

// Runs one operation on the GPU where it may be tried, else or after its error on the CPU.
template <class OnGpu, class OnCpu>
auto attempt(DeviceState& state, Operation operation, const LoadedWeights* weights, bool& on_gpu,
             OnGpu&& gpu, OnCpu&& cpu) -> decltype(cpu()) {
  using Clock = std::chrono::steady_clock;
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

}  // namespace gpuready::ternary::detail
