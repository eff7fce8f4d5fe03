// The compute test: every SM computes the same operations on the same inputs, and every result
// must be the golden one, bit for bit (docs/compute-test.md).
#pragma once

#include "health/test.h"

namespace gpuready {

// Metrics of its verdict: the cycles that the SMs counted in a second, in MHz, at most and on
// average; and the share of the launches' time in which they were slow (clock_tally.h), where the
// driver's greatest clock is known.
inline constexpr const char* kMeasuredClock = "sm_clock_measured";
inline constexpr const char* kMeanClock = "sm_clock_mean";
inline constexpr const char* kSlowClockShare = "sm_clock_slow_share";

Verdict test_compute(Device& device, const TestOptions& options, const TestHooks& hooks = {});

}  // namespace gpuready
