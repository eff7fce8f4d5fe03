// Waiting for a lock that another process holds.
#pragma once

#include <chrono>
#include <thread>

#include "base/result.h"

namespace gpuready {

// What `take` gives when the lock is not busy, or when `go_on` says to wait no longer. `go_on` is
// asked after each try that failed.
template <class Take, class GoOn>
auto lock_when_free(const Take& take, const GoOn& go_on) {
  constexpr std::chrono::milliseconds kPause{20};
  while (true) {
    auto lock = take();
    if (lock || lock.error().kind != ErrorKind::busy || !go_on()) return lock;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace gpuready
