// When a device that fails is left alone, and when it is tried again.
#pragma once

#include <chrono>

#include "gpuready/ternary_device.h"

namespace gpuready::ternary {

// Not for several threads at once.
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

}  // namespace gpuready::ternary
