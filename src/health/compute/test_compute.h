// The compute test: every SM computes the same operations on the same inputs, and every result
// must be the golden one, bit for bit (docs/compute-test.md).
#pragma once

#include "health/test.h"

namespace gpuready {

Verdict test_compute(Device& device, const TestOptions& options, const TestHooks& hooks = {});

}  // namespace gpuready
