// A child of the parent's that has some devices, and runs one test after the other on them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/open_device.h"
#include "jobs/running_job.h"

namespace gpuready {

struct WorkerSession {
  std::vector<DeviceChoice> devices;
  std::optional<RunningJob> child = std::nullopt;  // none: it could not be started
  std::string why_not = {};                        // then
  bool driver_started = false;
  bool busy = false;    // with a test
  bool closed = false;  // it is to end, or ends of itself: no other test

  bool running() const { return child && !child->finished(); }
  // There is nothing more to do; it is killed when it has not ended by itself in that time.
  void close(std::chrono::milliseconds time_to_end);
};

std::unique_ptr<WorkerSession> start_session(const std::vector<DeviceChoice>& devices);

}  // namespace gpuready
