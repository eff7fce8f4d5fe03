// GPUREADY_TERNARY_LOG: a line for each call, with what it did and how fast.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "gpuready/ternary.h"

namespace gpuready::ternary {

struct LoggedCall {
  std::string_view what;         // "product"
  std::int64_t m = 0;            // rows of activations; 0: none
  Shape weights = {};            // n x k
  std::int64_t group = 0;        // weights that share a scale; 0: a row
  std::string_view form = {};    // "two-bit", or a format's name
  std::string_view kernel = {};  // a tier, or a device's kernel
  unsigned threads = 0;          // that worked; 0: a device's
  std::size_t bytes = 0;         // of the weights
};

// Where lines go: a descriptor, or -1 where the variable is not set or names nothing that can be
// written to. Opened once.
int call_log();
// An error that names the variable in the latter case.
Result<void> check_call_log();

// Takes the time from where it is made, if there is a log.
class CallLog {
 public:
  CallLog() {
    if (on()) start_ = std::chrono::steady_clock::now();
  }
  bool on() const { return descriptor_ >= 0; }
  void write(const LoggedCall& call) const;

 private:
  int descriptor_ = call_log();
  std::chrono::steady_clock::time_point start_;
};

}  // namespace gpuready::ternary
