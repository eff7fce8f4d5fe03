// A child of the parent's that has some devices, and runs one test after the other on them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "device/open_device.h"
#include "host/process.h"

namespace gpuready {

struct WorkerSession {
  std::vector<DeviceChoice> devices;
  std::optional<Child> child = std::nullopt;  // none: it could not be started
  std::string why_not = {};                   // then
  bool driver_started = false;
  bool busy = false;       // with a test
  bool closed = false;     // it is to end, or ends of itself: no other test
  bool abandoned = false;  // stuck in a driver where no kill reaches it
  Clock::time_point closed_at = {};

  bool running() const { return child && !child->finished() && !abandoned; }
  void close();
};

// `limit` is the last resort, for all tests of the session.
std::unique_ptr<WorkerSession> start_session(const std::vector<DeviceChoice>& devices,
                                             std::chrono::milliseconds limit);

}  // namespace gpuready
