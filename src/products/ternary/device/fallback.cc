#include "ternary/device/fallback.h"

namespace gpuready::ternary::detail {

Blame blame(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::device:
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
      reason = "the device is not used after repeated errors, the last: " +
               state.last_gpu_error.value_or("");
      break;
    }
  }
  state.set_text(state.last_fallback, std::move(reason));
}

}  // namespace gpuready::ternary::detail
