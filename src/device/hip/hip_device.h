// AMD GPUs through the HIP runtime. Written from its documented interface and tested against a fake
// runtime: not verified on hardware.
#pragma once

#include <memory>
#include <string_view>

#include "device/device.h"

namespace gpuready {

// Told with every result of this executor.
inline constexpr std::string_view kHipCaveat = "the HIP executor is not verified on hardware";

// Opens the GPU that `id` names by its PCI address and its target, "0000:03:00.0/gfx90a" (the
// target as the kernel driver tells it, which decides on the code object), and no other: not_found
// unless the runtime shows exactly that one to this process.
Result<std::unique_ptr<Device>> open_hip_device(std::string_view id);

// What an error of the start or of the device says.
DeviceFault hip_fault_of(const Error& error);

}  // namespace gpuready
