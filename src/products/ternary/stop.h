// Calls that end early because their thread's StopScope is asked to stop.
#pragma once

#include <stop_token>

#include "base/result.h"

namespace gpuready::ternary {

// Looked at by all threads that work on a call, between two pieces of the work.
class StopSignal {
 public:
  static StopSignal of_this_thread();
  bool possible() const { return token_ != nullptr; }
  bool requested() const { return token_ != nullptr && token_->stop_requested(); }

 private:
  explicit StopSignal(const std::stop_token* token) : token_(token) {}
  const std::stop_token* token_;  // of the scope, which the call does not outlive
};

// Thrown by share(), and caught by compute().
struct Cancelled {};

inline std::unexpected<Error> cancelled() {
  return fail(ErrorKind::cancelled, "the call was asked to stop");
}

}  // namespace gpuready::ternary
