// NVIDIA GPUs through the driver API.
#pragma once

#include <memory>
#include <string_view>

#include "device/device.h"

namespace gpuready {

// Opens the GPU or MIG instance with this UUID ("GPU-..." or "MIG-..."), and no other: not_found
// unless the driver shows exactly that one to this process. Creates a context on it.
Result<std::unique_ptr<Device>> open_cuda_device(std::string_view uuid);

// What an error of the start or of the device says.
DeviceFault cuda_fault_of(const Error& error);

}  // namespace gpuready
