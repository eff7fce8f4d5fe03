// Mediated devices as sysfs shows them.
#pragma once

#include <string>
#include <vector>

#include "host/host.h"
#include "vm/device.h"

namespace gpuready::vm {

inline constexpr const char* kMediatedDevices = "/sys/bus/mdev/devices/";

std::vector<MediatedDevice> read_mediated_devices(Host& host);
// The attribute into which a UUID is written to make an instance of this type.
std::string create_attribute(const MediatedDevice& instance);

}  // namespace gpuready::vm
