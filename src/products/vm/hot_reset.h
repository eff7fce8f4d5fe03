// A reset of all functions on a bus through VFIO, for functions without a reset of their own: the
// kernel permits it to who holds all of their groups (Linux, vfio.h).
#pragma once

#include <string>

#include "base/result.h"
#include "host/host.h"

namespace gpuready::vm {

// `folder`: the device's in sysfs. `allowed`: addresses with blanks between them; the error names
// another that the reset would reach. All have a VFIO driver, and no virtual machine holds them.
Result<void> vfio_hot_reset(Host& host, const std::string& folder, const std::string& allowed);

}  // namespace gpuready::vm
