#include "device/vulkan/vulkan_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace gpuready {
namespace {

// How many compute units there are is reported by vendors' extensions alone. Elsewhere this many
// are assumed where work is dealt out: enough blocks for a large GPU, and no harm on a small one.
constexpr unsigned kAssumedUnits = 32;

class Extensions {
 public:
  Extensions(const VulkanLibrary& vulkan, VkPhysicalDevice device) {
    std::uint32_t count = 0;
    if (vulkan.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) != VK_SUCCESS)
      return;
    all_.resize(count);
    if (vulkan.EnumerateDeviceExtensionProperties(device, nullptr, &count, all_.data()) !=
        VK_SUCCESS)
      count = 0;
    all_.resize(count);
  }
  bool has(std::string_view name) const {
    return std::any_of(all_.begin(), all_.end(), [&](const VkExtensionProperties& extension) {
      return name == extension.extensionName;
    });
  }

 private:
  std::vector<VkExtensionProperties> all_;
};

// A structure that is asked for only where the device knows it.
template <class Structure>
void chain(VkPhysicalDeviceProperties2& head, Structure& structure, VkStructureType type) {
  structure.sType = type;
  structure.pNext = head.pNext;
  head.pNext = &structure;
}

// Compute-only queues first: there no watchdog of a display's queue ends a launch.
std::optional<std::uint32_t> choose_queue_family(
    const std::vector<VkQueueFamilyProperties>& families) {
  for (const VkQueueFlags unwanted : {VkQueueFlags{VK_QUEUE_GRAPHICS_BIT}, VkQueueFlags{0}})
    for (std::uint32_t i = 0; i < families.size(); ++i) {
      const VkQueueFlags flags = families[i].queueFlags;
      if (families[i].queueCount > 0 && (flags & VK_QUEUE_COMPUTE_BIT) && !(flags & unwanted))
        return i;
    }
  return std::nullopt;
}

Result<void> require_features(const VulkanLibrary& vulkan, VkPhysicalDevice device,
                              VulkanFacts& facts) {
  VkPhysicalDeviceVulkan12Features features12{};
  features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &features12;
  vulkan.GetPhysicalDeviceFeatures2(device, &features);
  const std::pair<VkBool32, const char*> required[] = {
      {features.features.shaderInt64, "shaderInt64"},
      {features12.bufferDeviceAddress, "bufferDeviceAddress"},
      {features12.timelineSemaphore, "timelineSemaphore"}};
  for (const auto& [present, name] : required)
    if (!present)
      return fail(ErrorKind::unsupported,
                  fmt::format("the Vulkan device {} lacks {}", facts.info.name, name));
  facts.float64 = features.features.shaderFloat64;
  return {};
}

std::uint64_t local_memory_bytes(const VulkanLibrary& vulkan, VkPhysicalDevice device) {
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  vulkan.GetPhysicalDeviceMemoryProperties2(device, &memory);
  std::uint64_t largest = 0;
  for (std::uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryProperties.memoryHeaps[i];
    if (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) largest = std::max(largest, heap.size);
  }
  return largest;
}

}  // namespace

std::string vulkan_device_uuid(const VulkanLibrary& vulkan, VkPhysicalDevice device) {
  VkPhysicalDeviceProperties base{};
  vulkan.GetPhysicalDeviceProperties(device, &base);
  if (base.apiVersion < VK_API_VERSION_1_1) return {};
  VkPhysicalDeviceIDProperties id{};
  id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  all.pNext = &id;
  vulkan.GetPhysicalDeviceProperties2(device, &all);
  return format_vulkan_uuid(id.deviceUUID);
}

Result<VulkanFacts> read_vulkan_facts(const VulkanLibrary& vulkan, VkPhysicalDevice device) {
  VulkanFacts facts;
  DeviceInfo& info = facts.info;
  info.executor = "vulkan";
  VkPhysicalDeviceProperties base{};
  vulkan.GetPhysicalDeviceProperties(device, &base);
  info.name = printable(base.deviceName);
  if (base.apiVersion < VK_API_VERSION_1_2)
    return fail(
        ErrorKind::unsupported,
        fmt::format("the Vulkan device {} is of version {}.{}, and 1.2 is needed", info.name,
                    VK_API_VERSION_MAJOR(base.apiVersion), VK_API_VERSION_MINOR(base.apiVersion)));
  TRY(require_features(vulkan, device, facts));

  const Extensions extensions(vulkan, device);
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  VkPhysicalDeviceVulkan11Properties version11{};
  chain(all, version11, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
  VkPhysicalDeviceVulkan12Properties version12{};
  chain(all, version12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
  VkPhysicalDevicePCIBusInfoPropertiesEXT pci{};
  const bool has_pci = extensions.has(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
  if (has_pci) chain(all, pci, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
  VkPhysicalDeviceMaintenance4Properties maintenance4{};
  if (extensions.has(VK_KHR_MAINTENANCE_4_EXTENSION_NAME))
    chain(all, maintenance4, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia{};
  if (extensions.has(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME))
    chain(all, nvidia, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV);
  VkPhysicalDeviceShaderCorePropertiesAMD amd{};
  if (extensions.has(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME))
    chain(all, amd, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD);
  vulkan.GetPhysicalDeviceProperties2(device, &all);

  info.uuid = format_vulkan_uuid(version11.deviceUUID);
  info.software = base.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  info.integrated = *info.software || base.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  if (has_pci)
    info.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.pciDomain, pci.pciBus,
                                   pci.pciDevice, pci.pciFunction);
  const unsigned amd_units =
      amd.shaderEngineCount * amd.shaderArraysPerEngineCount * amd.computeUnitsPerShaderArray;
  info.units = nvidia.shaderSMCount ? nvidia.shaderSMCount
               : amd_units          ? amd_units
               : *info.software     ? 1
                                    : kAssumedUnits;
  info.memory_total_bytes = local_memory_bytes(vulkan, device);
  info.warp_size = version11.subgroupSize;
  info.max_threads_per_block = base.limits.maxComputeWorkGroupInvocations;
  info.max_shared_bytes_per_block = base.limits.maxComputeSharedMemorySize;
  info.cooperative_launch = false;

  facts.max_allocation_bytes = version11.maxMemoryAllocationSize;
  if (maintenance4.maxBufferSize)
    facts.max_allocation_bytes =
        std::min<std::uint64_t>(facts.max_allocation_bytes, maintenance4.maxBufferSize);
  info.max_blocks = facts.max_blocks = base.limits.maxComputeWorkGroupCount[0];
  facts.timestamp_period_ns = static_cast<double>(base.limits.timestampPeriod);
  facts.memory_budget = extensions.has(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  facts.round_to_nearest_fp32 = version12.shaderRoundingModeRTEFloat32;

  std::uint32_t count = 0;
  vulkan.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vulkan.GetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  const auto family = choose_queue_family(families);
  if (!family)
    return fail(ErrorKind::unsupported,
                fmt::format("the Vulkan device {} has no queue for compute", info.name));
  facts.queue_family = *family;
  facts.timestamp_valid_bits = families[*family].timestampValidBits;
  return facts;
}

}  // namespace gpuready
