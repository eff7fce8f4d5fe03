// Devices as people name them.
#pragma once

#include <string>
#include <vector>

#include "host/host.h"
#include "vm/device.h"

namespace gpuready::vm {

struct NamedDevices {
  std::vector<PciAddress> devices;
  std::vector<std::string> instances = {};  // UUIDs of mediated devices
  bool empty() const { return devices.empty() && instances.empty(); }
};

// PCI addresses ("17:00.0"), UUIDs of GPUs ("GPU-" may be left out), of attached devices and of
// mediated devices, other names of GPUs. Whether an address or a mediated device exists is not
// looked up. Error: not_found for a GPU's UUID that none here has, else bad_input.
Result<NamedDevices> devices_named(Host& host, const std::vector<std::string>& names);
// The same without mediated devices.
Result<std::vector<PciAddress>> addresses_named(Host& host, const std::vector<std::string>& names);

}  // namespace gpuready::vm
