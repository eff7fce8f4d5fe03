// Times of a driver's events, held to this machine's clock: every rate rests on them.
#pragma once

#include "base/clock.h"
#include "device/device.h"

namespace gpuready {

inline constexpr const char* kTimesContradict =
    "the driver's event times contradict the clock of this machine";

// Two events around work on one stream, as StreamTimer. An error (kTimesContradict):
// - make(): of two events around a known wait. Each is waited for, so that the host knows between
//   which two moments it happened: the time between them has an exact least and an exact most,
//   however busy the host is.
// - stop_ms(): more than the wall time from start() to the end of the work; or less than
//   kLeastShare of a wall time of kLongMs, where another known wait contradicts, too (the host may
//   have been kept from looking).
class EventTimer {
 public:
  static constexpr double kTolerance = 0.05, kLeastShare = 0.75, kLongMs = 1;

  static Result<EventTimer> make(Device& device, StreamId stream);
  Result<void> start();
  Result<double> stop_ms();

 private:
  EventTimer(Device& device, StreamId stream, StreamTimer timer)
      : device_(&device), stream_(stream), timer_(std::move(timer)) {}
  Result<void> time_a_known_wait();

  Device* device_;
  StreamId stream_;
  StreamTimer timer_;
  Clock::time_point start_;
  int known_waits_left_ = 8;
};

}  // namespace gpuready
