// The Vulkan executor: compute on any vendor's GPU, and on Mesa's llvmpipe, which is software and
// always told to be. docs/vulkan.md says what it needs and what it was tried on.
#pragma once

#include <memory>
#include <string_view>

#include "device/device.h"

namespace gpuready {

// `uuid` is the device UUID, as the machine's Vulkan probe writes it.
Result<std::unique_ptr<Device>> open_vulkan_device(std::string_view uuid);
DeviceFault vulkan_fault_of(const Error& error);

}  // namespace gpuready
