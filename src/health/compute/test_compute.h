// The compute test: every SM computes the same operations on the same inputs, and every result
// must be the golden one, bit for bit (docs/compute-test.md).
#pragma once

#include "health/test.h"

namespace gpuready {

// A metric of its verdict: the cycles that the SMs counted in a second, in MHz.
inline constexpr const char* kMeasuredClock = "sm_clock_measured";

Verdict test_compute(Device& device, const TestOptions& options, const TestHooks& hooks = {});

}  // namespace gpuready
