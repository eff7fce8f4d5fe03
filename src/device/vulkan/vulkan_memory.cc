#include "device/vulkan/vulkan_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kAlignment = 256;  // what Device::allocate() promises

}  // namespace

void VulkanMemory::open() {
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  context_.vulkan->GetPhysicalDeviceMemoryProperties2(context_.physical, &memory);
  memory_ = memory.memoryProperties;
  std::uint64_t largest = 0;
  for (std::uint32_t i = 0; i < memory_.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory_.memoryHeaps[i];
    if (!(heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) || heap.size <= largest) continue;
    largest = heap.size;
    heap_ = i;
  }
}

VulkanMemory::~VulkanMemory() {
  for (auto& [address, buffer] : buffers_) destroy(buffer);
  for (auto& [pointer, buffer] : host_buffers_) destroy(buffer);
}

DeviceMemory VulkanMemory::budget() const {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  if (context_.facts.memory_budget) memory.pNext = &budget;
  context_.vulkan->GetPhysicalDeviceMemoryProperties2(context_.physical, &memory);
  // The budget is what this process may hold, with what it holds already.
  const std::uint64_t total = memory_.memoryHeaps[heap_].size;
  const std::uint64_t limit = budget.heapBudget[heap_] ? budget.heapBudget[heap_] : total;
  const std::uint64_t used = budget.heapBudget[heap_]
                                 ? std::max(budget.heapUsage[heap_], allocated_bytes_)
                                 : allocated_bytes_;
  return {limit - std::min(limit, used), total};
}

std::optional<std::uint32_t> VulkanMemory::choose_type(std::uint32_t allowed,
                                                       VkMemoryPropertyFlags wanted,
                                                       VkMemoryPropertyFlags preferred,
                                                       bool on_device) const {
  for (const VkMemoryPropertyFlags flags : {wanted | preferred, wanted})
    for (std::uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
      const VkMemoryType& type = memory_.memoryTypes[i];
      if (!(allowed >> i & 1) || (type.propertyFlags & flags) != flags) continue;
      if (on_device && type.heapIndex != heap_) continue;
      return i;
    }
  return std::nullopt;
}

void VulkanMemory::destroy(VulkanBuffer& buffer) {
  const VulkanLibrary& vulkan = *context_.vulkan;
  if (buffer.buffer) vulkan.DestroyBuffer(context_.device, buffer.buffer, nullptr);
  if (buffer.memory) vulkan.FreeMemory(context_.device, buffer.memory, nullptr);
  buffer = {};
}

Result<VulkanBuffer> VulkanMemory::make(std::uint64_t bytes, VkMemoryPropertyFlags wanted,
                                        VkMemoryPropertyFlags preferred, bool on_device) {
  const VulkanLibrary& vulkan = *context_.vulkan;
  const std::uint64_t most = context_.facts.max_allocation_bytes;
  if (bytes == 0) return fail(ErrorKind::bad_input, "an allocation of no bytes");
  const auto too_large = [&] {
    return fail(ErrorKind::too_large,
                fmt::format("{} exceed the {} that this Vulkan device grants in one piece",
                            format_bytes(bytes), format_bytes(most)));
  };
  if (bytes > most) return too_large();

  VulkanBuffer made;
  made.bytes = bytes;
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (on_device)
    info.usage |= VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  auto done = vulkan_checked("vkCreateBuffer",
                             vulkan.CreateBuffer(context_.device, &info, nullptr, &made.buffer));
  if (!done) return std::unexpected(done.error());
  VkMemoryRequirements needs{};
  vulkan.GetBufferMemoryRequirements(context_.device, made.buffer, &needs);
  const auto type = choose_type(needs.memoryTypeBits, wanted, preferred, on_device);
  if (needs.size > most || !type) {
    destroy(made);
    if (!type) return fail(ErrorKind::unsupported, "no memory type of this Vulkan device serves");
    return too_large();
  }
  VkMemoryAllocateFlagsInfo flags{};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  if (on_device) allocation.pNext = &flags;
  allocation.allocationSize = needs.size;
  allocation.memoryTypeIndex = *type;
  done = vulkan_checked("vkAllocateMemory",
                        vulkan.AllocateMemory(context_.device, &allocation, nullptr, &made.memory));
  if (done)
    done = vulkan_checked("vkBindBufferMemory",
                          vulkan.BindBufferMemory(context_.device, made.buffer, made.memory, 0));
  if (done && !on_device)
    done = vulkan_checked("vkMapMemory", vulkan.MapMemory(context_.device, made.memory, 0,
                                                          VK_WHOLE_SIZE, 0, &made.mapped));
  if (!done) {
    destroy(made);
    return std::unexpected(done.error());
  }
  return made;
}

// Some drivers align buffers to less than what is promised. Then, once that is seen, every buffer
// is made that much larger.
Result<VulkanBuffer> VulkanMemory::make_on_device(std::uint64_t bytes, DeviceAddress& address) {
  for (;;) {
    auto made = make(bytes + padding_bytes_, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, true);
    if (!made) return made;
    VkBufferDeviceAddressInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    info.buffer = made->buffer;
    const DeviceAddress start = context_.vulkan->GetBufferDeviceAddress(context_.device, &info);
    if (start == 0) {
      destroy(*made);
      return fail(ErrorKind::unsupported, "this Vulkan device gives its buffers no address");
    }
    address = (start + kAlignment - 1) / kAlignment * kAlignment;
    if (address - start <= padding_bytes_) {
      made->offset_bytes = address - start;
      made->bytes = bytes;
      return made;
    }
    destroy(*made);
    padding_bytes_ = kAlignment;
  }
}

Result<DeviceAddress> VulkanMemory::allocate(std::uint64_t bytes) {
  DeviceAddress address = 0;
  auto made = TRY(make_on_device(bytes, address));
  allocated_bytes_ += made.bytes;
  buffers_[address] = made;
  return address;
}

Result<void> VulkanMemory::release(DeviceAddress address) {
  const auto found = buffers_.find(address);
  if (found == buffers_.end())
    return fail(ErrorKind::bad_input, "released an address that was not allocated");
  allocated_bytes_ -= found->second.bytes;
  destroy(found->second);
  buffers_.erase(found);
  return {};
}

Result<void*> VulkanMemory::allocate_host(std::uint64_t bytes) {
  auto made =
      TRY(make(bytes, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
               VK_MEMORY_PROPERTY_HOST_CACHED_BIT, false));
  host_buffers_[static_cast<const char*>(made.mapped)] = made;
  return made.mapped;
}

Result<void> VulkanMemory::release_host(void* memory) {
  const auto found = host_buffers_.find(static_cast<const char*>(memory));
  if (found == host_buffers_.end())
    return fail(ErrorKind::bad_input, "released host memory that was not allocated here");
  destroy(found->second);
  host_buffers_.erase(found);
  return {};
}

Result<VulkanSpan> VulkanMemory::find(DeviceAddress address, std::uint64_t bytes) const {
  auto next = buffers_.upper_bound(address);
  if (next != buffers_.begin()) {
    const auto& [start, buffer] = *--next;
    const std::uint64_t offset = address - start;
    if (offset <= buffer.bytes && bytes <= buffer.bytes - offset)
      return VulkanSpan{buffer.buffer, buffer.offset_bytes + offset};
  }
  return fail(ErrorKind::bad_input,
              fmt::format("{} bytes at {:#x} are outside every allocation", bytes, address));
}

std::optional<VulkanSpan> VulkanMemory::find_host(const void* memory, std::uint64_t bytes) const {
  const char* wanted = static_cast<const char*>(memory);
  auto next = host_buffers_.upper_bound(wanted);
  if (next == host_buffers_.begin()) return std::nullopt;
  const auto& [start, buffer] = *--next;
  const auto offset = static_cast<std::uint64_t>(wanted - start);
  if (offset > buffer.bytes || bytes > buffer.bytes - offset) return std::nullopt;
  return VulkanSpan{buffer.buffer, offset};
}

}  // namespace gpuready
