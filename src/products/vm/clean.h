// Whether a device that comes back may be given to the next: its memory is overwritten and
// verified, and its checks pass, by `gpuready test` in a child.
#pragma once

#include <chrono>

#include "base/result.h"
#include "gpuready/machine.h"
#include "host/host.h"

namespace gpuready::vm {

// An error says what keeps it in quarantine.
Result<void> clean(Host& host, const PciAddress& device, std::chrono::milliseconds deadline);

// What the document of that test says of this device.
Result<void> judge(const Json& report, const PciAddress& device);

}  // namespace gpuready::vm
