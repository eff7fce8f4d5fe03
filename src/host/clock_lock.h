// Holds the clocks of an NVIDIA GPU at one frequency. A child does it, which gives them back when
// it is asked to or when this process ends, however it ends. (Only the end of that child itself by
// SIGKILL, or of the machine, leaves them: a driver that is loaded again forgets them.)
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "jobs/running_job.h"

namespace gpuready {

class ClockLock {
 public:
  // Of the GPU with this UUID; 0 MHz: its default application clock. no_permission where it wants
  // root, unsupported where the GPU or the driver cannot.
  static Result<std::unique_ptr<ClockLock>> take(const std::string& uuid, unsigned mhz);

  ~ClockLock() {
    if (held_) (void)release();
  }
  ClockLock(const ClockLock&) = delete;
  ClockLock& operator=(const ClockLock&) = delete;

  unsigned mhz() const { return mhz_; }
  // Gives the clocks back; says so where they may still be held.
  Result<void> release();
  // What the child runs; it has no limit of time.
  static Job job(const std::string& uuid, unsigned mhz);

 private:
  ClockLock(RunningJob child, std::string uuid, unsigned mhz)
      : child_(std::move(child)), uuid_(std::move(uuid)), mhz_(mhz) {}
  RunningJob child_;
  std::string uuid_;
  unsigned mhz_;
  bool held_ = true;
};

}  // namespace gpuready
