// The peers test: two GPUs reach each other's memory by loads, stores, atomics and copies, every
// word checked; how fast; and a sum over both through NCCL. docs/bandwidth-test.md has the rules.
#pragma once

#include "health/test.h"

namespace gpuready {

Verdict test_peers(Device& first, Device& second, const TestOptions& options = {},
                   const TestHooks& hooks = {});

}  // namespace gpuready
