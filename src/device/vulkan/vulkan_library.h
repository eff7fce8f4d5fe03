// The Vulkan loader, opened by dlopen: its functions, the one instance of this process, and what a
// VkResult means.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/device.h"

namespace gpuready {

#define GPUREADY_VULKAN_FUNCTIONS(X)        \
  X(EnumeratePhysicalDevices)               \
  X(EnumerateDeviceExtensionProperties)     \
  X(GetPhysicalDeviceProperties)            \
  X(GetPhysicalDeviceProperties2)           \
  X(GetPhysicalDeviceFeatures2)             \
  X(GetPhysicalDeviceMemoryProperties2)     \
  X(GetPhysicalDeviceQueueFamilyProperties) \
  X(CreateDevice)                           \
  X(DestroyDevice)                          \
  X(GetDeviceQueue)                         \
  X(CreateBuffer)                           \
  X(DestroyBuffer)                          \
  X(GetBufferMemoryRequirements)            \
  X(GetBufferDeviceAddress)                 \
  X(BindBufferMemory)                       \
  X(AllocateMemory)                         \
  X(FreeMemory)                             \
  X(MapMemory)                              \
  X(CreateCommandPool)                      \
  X(DestroyCommandPool)                     \
  X(AllocateCommandBuffers)                 \
  X(BeginCommandBuffer)                     \
  X(EndCommandBuffer)                       \
  X(CmdPipelineBarrier)                     \
  X(CmdCopyBuffer)                          \
  X(CmdUpdateBuffer)                        \
  X(CmdBindPipeline)                        \
  X(CmdPushConstants)                       \
  X(CmdDispatch)                            \
  X(CmdResetQueryPool)                      \
  X(CmdWriteTimestamp)                      \
  X(CreateQueryPool)                        \
  X(DestroyQueryPool)                       \
  X(GetQueryPoolResults)                    \
  X(CreateSemaphore)                        \
  X(DestroySemaphore)                       \
  X(GetSemaphoreCounterValue)               \
  X(WaitSemaphores)                         \
  X(QueueSubmit)                            \
  X(CreateShaderModule)                     \
  X(DestroyShaderModule)                    \
  X(CreatePipelineLayout)                   \
  X(DestroyPipelineLayout)                  \
  X(CreateComputePipelines)                 \
  X(DestroyPipeline)

struct VulkanLibrary {
  std::string path;  // as it was opened
  VkInstance instance = VK_NULL_HANDLE;
#define GPUREADY_MEMBER(name) PFN_vk##name name = nullptr;
  GPUREADY_VULKAN_FUNCTIONS(GPUREADY_MEMBER)
#undef GPUREADY_MEMBER

  // Opens the loader and makes an instance, once per process; neither is ever given back. The path
  // in GPUREADY_VULKAN_LIBRARY, if set, is the only one tried. Layers are kept out unless
  // VK_LOADER_LAYERS_DISABLE is set already: an overlay's code has no part in a test.
  static Result<const VulkanLibrary*> start();

  Result<std::vector<VkPhysicalDevice>> devices() const;
};

std::string_view vulkan_result_name(VkResult result);
// Nothing for VK_SUCCESS, else an error of kind `device` with the VkResult as its code.
Result<void> vulkan_checked(std::string_view call, VkResult result);
DeviceFault vulkan_fault_of(const Error& error);

// Lower-case hexadecimal in the usual groups, as the machine's Vulkan probe writes it.
std::string format_vulkan_uuid(const std::uint8_t (&bytes)[VK_UUID_SIZE]);

}  // namespace gpuready
