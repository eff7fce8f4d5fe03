// The memory test: every word of as much memory as may be taken is written with a pattern that no
// two addresses share, read back, written with the complement and read back again
// (docs/memory-test.md).
#pragma once

#include "health/test.h"

namespace gpuready {

Verdict test_memory(Device& device, const TestOptions& options, const TestHooks& hooks = {});

}  // namespace gpuready
