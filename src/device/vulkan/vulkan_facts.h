// What a Vulkan device is and can do, as far as the executor needs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device/vulkan/vulkan_library.h"

namespace gpuready {

struct VulkanFacts {
  DeviceInfo info;
  std::uint32_t queue_family = 0;
  std::uint32_t timestamp_valid_bits = 0;  // 0: the queue keeps no time
  double timestamp_period_ns = 0;
  std::uint64_t max_allocation_bytes = 0;  // of one allocation and of one buffer
  std::uint32_t max_blocks = 0;            // work groups of one dispatch
  bool memory_budget = false;              // VK_EXT_memory_budget
  bool float64 = false;                    // shaderFloat64
  bool round_to_nearest_fp32 = false;      // shaderRoundingModeRTEFloat32
};

std::string vulkan_device_uuid(const VulkanLibrary& vulkan, VkPhysicalDevice device);
// Fails with ErrorKind::unsupported, and the reason, for a device that cannot serve as an executor.
Result<VulkanFacts> read_vulkan_facts(const VulkanLibrary& vulkan, VkPhysicalDevice device);

}  // namespace gpuready
