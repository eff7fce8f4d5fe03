// Memory of a Vulkan device: buffers that are addressed by 64-bit device addresses, each with an
// allocation of its own, and host memory that the device copies from and to.
#pragma once

#include <map>

#include "device/vulkan/vulkan_context.h"

namespace gpuready {

struct VulkanBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::uint64_t offset_bytes = 0;  // of what the caller was given within the buffer
  std::uint64_t bytes = 0;
  void* mapped = nullptr;  // host memory only
};

// Part of a buffer, as copies want it.
struct VulkanSpan {
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t offset_bytes = 0;
};

class VulkanMemory {
 public:
  explicit VulkanMemory(const VulkanContext& context) : context_(context) {}
  VulkanMemory(const VulkanMemory&) = delete;
  ~VulkanMemory();
  // Reads the device's heaps; to be called once.
  void open();

  // Of the largest heap of the device's own memory.
  DeviceMemory budget() const;

  Result<DeviceAddress> allocate(std::uint64_t bytes);
  Result<void> release(DeviceAddress address);
  Result<void*> allocate_host(std::uint64_t bytes);
  Result<void> release_host(void* memory);

  // The buffer that holds all these bytes. An error where none does.
  Result<VulkanSpan> find(DeviceAddress address, std::uint64_t bytes) const;
  // Nothing for host memory that is not ours.
  std::optional<VulkanSpan> find_host(const void* memory, std::uint64_t bytes) const;

 private:
  Result<VulkanBuffer> make(std::uint64_t bytes, VkMemoryPropertyFlags wanted,
                            VkMemoryPropertyFlags preferred, bool on_device);
  Result<VulkanBuffer> make_on_device(std::uint64_t bytes, DeviceAddress& address);
  std::optional<std::uint32_t> choose_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted,
                                           VkMemoryPropertyFlags preferred, bool on_device) const;
  void destroy(VulkanBuffer& buffer);

  const VulkanContext& context_;
  VkPhysicalDeviceMemoryProperties memory_{};
  std::uint32_t heap_ = 0;  // the largest of the device's own
  std::uint64_t padding_bytes_ = 0;
  std::uint64_t allocated_bytes_ = 0;  // in heap_
  std::map<DeviceAddress, VulkanBuffer> buffers_;
  std::map<const char*, VulkanBuffer> host_buffers_;
};

}  // namespace gpuready
