// What of a stack's runs does not count, and why. Figures are taken of what is left, so that each
// of these must be said: a candidate that fails half of its repeats is not a faster one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/run_record.h"

namespace gpuready::bench {

struct Losses {
  std::uint64_t runs = 0, lost_runs = 0;        // lost: without any figure of the stack
  std::uint64_t repeats = 0, lost_repeats = 0;  // as asked for; lost: failed, empty or not there
  std::uint64_t failures = 0;                   // of the lost repeats and runs: the stack's own
  std::uint64_t throttled_samples = 0;
  std::vector<std::string> reasons;  // "2 of 5 repeats of torch_eager failed: exit code 9"

  bool any() const { return lost_runs > 0 || lost_repeats > 0; }
};

Losses losses_of(std::span<const RunRecord> runs, std::string_view stack);

}  // namespace gpuready::bench
