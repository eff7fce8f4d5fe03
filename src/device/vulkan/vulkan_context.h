// One logical device and what its parts share.
#pragma once

#include "device/vulkan/vulkan_facts.h"

namespace gpuready {

struct VulkanContext {
  const VulkanLibrary* vulkan = nullptr;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VulkanFacts facts;
};

}  // namespace gpuready
