// A reset of all functions on a bus through VFIO, for functions without a reset of their own: the
// kernel permits it to who holds all of their groups (Linux, vfio.h).
#pragma once

#include <linux/vfio.h>

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"

namespace gpuready::vm {

// `folder`: the device's in sysfs. `allowed`: addresses with blanks between them; the error names
// another that the reset would reach. All have a VFIO driver, and no virtual machine holds them.
Result<void> vfio_hot_reset(Host& host, const std::string& folder, const std::string& allowed);

// The numbers of the groups, each once, that a reset of the device `name` needs: those of all
// functions that it reaches. Error: one of them is not `allowed`, or its group is not `held`.
Result<std::vector<std::string>> groups_of_reset(const std::string& name,
                                                 std::span<const vfio_pci_dependent_device> reached,
                                                 std::span<const std::string> allowed,
                                                 std::span<const std::string> held);

}  // namespace gpuready::vm
