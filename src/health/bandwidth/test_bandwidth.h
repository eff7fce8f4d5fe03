// The bandwidth test: copies between host and device and within the device, every word of them
// checked where it arrived, and their rates held against what the link and the memory can do.
// docs/bandwidth-test.md has the rules.
#pragma once

#include "health/test.h"
#include "host/host.h"

namespace gpuready {

Verdict test_bandwidth(Device& device, const TestOptions& options = {},
                       const TestHooks& hooks = {});
// With the link and the NUMA nodes as this host tells them.
Verdict test_bandwidth(Device& device, Host& host, const TestOptions& options,
                       const TestHooks& hooks);

}  // namespace gpuready
