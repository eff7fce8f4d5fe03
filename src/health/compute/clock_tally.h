// The clock of the SMs by their own count of its cycles, launch by launch.
#pragma once

#include <algorithm>

namespace gpuready {

// Below this share of the clock that the device allows, an SM is slow.
inline constexpr double kSlowClock = 0.75;
// Of the loaded time that an SM may be slow: more is degraded, and more than the second is broken.
inline constexpr double kMostSlowShare = 0.10, kBrokenSlowShare = 0.50;

class ClockTally {
 public:
  static constexpr double kRampMs = 300;  // an idle GPU takes at most this long to raise its clock

  // `since_ms`: since the GPU was first loaded. Slow launches before the first that is not are the
  // ramp.
  void add(double mhz, double ms, double since_ms, double allowed_mhz) {
    const bool slow = mhz < kSlowClock * allowed_mhz;
    if (slow && !risen_ && since_ms < kRampMs) return;
    risen_ = true;
    best_mhz_ = std::max(best_mhz_, mhz);
    ms_ += ms;
    cycles_ += mhz * ms;
    if (slow) slow_ms_ += ms;
  }
  double best_mhz() const { return best_mhz_; }
  double mean_mhz() const { return ms_ > 0 ? cycles_ / ms_ : 0; }
  double slow_share() const { return ms_ > 0 ? slow_ms_ / ms_ : 0; }
  bool risen() const { return risen_; }

 private:
  bool risen_ = false;
  double best_mhz_ = 0, ms_ = 0, slow_ms_ = 0, cycles_ = 0;
};

}  // namespace gpuready
