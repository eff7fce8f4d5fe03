// Backends on GPUs: GpuEngine behind the interface of the device-aware layer.
#pragma once

#include <memory>
#include <string_view>

#include "device/device.h"
#include "ternary/device/backend.h"

namespace gpuready::ternary {

// By UUID, as open_cuda_device() and open_vulkan_device() take it.
Result<std::unique_ptr<Backend>> make_cuda_backend(std::string_view uuid);
Result<std::unique_ptr<Backend>> make_vulkan_backend(std::string_view uuid);
// On a device that was opened; it is owned from then on.
Result<std::unique_ptr<Backend>> make_gpu_backend(std::unique_ptr<Device> device);

}  // namespace gpuready::ternary
