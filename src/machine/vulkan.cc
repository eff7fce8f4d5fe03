// What Vulkan says: the loader's driver manifests, and the document of the Vulkan probe.
#include <algorithm>

#include "base/text.h"
#include "machine/sources.h"
#include "value/vendors.h"

namespace gpuready {
namespace {
constexpr std::int64_t kMostDevices = 64;

struct CodeName {
  int code;
  const char* name;
};
// Vulkan specification, VkResult.
constexpr CodeName kResults[] = {
    {-1, "VK_ERROR_OUT_OF_HOST_MEMORY"},    {-2, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
    {-3, "VK_ERROR_INITIALIZATION_FAILED"}, {-4, "VK_ERROR_DEVICE_LOST"},
    {-6, "VK_ERROR_LAYER_NOT_PRESENT"},     {-7, "VK_ERROR_EXTENSION_NOT_PRESENT"},
    {-9, "VK_ERROR_INCOMPATIBLE_DRIVER"},   {-13, "VK_ERROR_UNKNOWN"},
};

std::string result_name(int code) {
  for (const auto& known : kResults)
    if (known.code == code) return known.name;
  return code == 0 ? "VK_SUCCESS" : "VkResult " + std::to_string(code);
}

VulkanDevice read_device(const ProbeDocument& document, std::int64_t ordinal) {
  const std::string index = "(" + std::to_string(ordinal) + ")";
  const auto& properties = document.value("vkGetPhysicalDeviceProperties2" + index);
  VulkanDevice device;
  device.name = printable(get_string(properties, "name").value_or(""));
  device.type = get_string(properties, "type").value_or("other");
  device.uuid = get_string(properties, "uuid");
  device.driver_name = get_string(properties, "driver_name");
  device.driver_version = get_string(properties, "driver_version");
  device.api_version = get_string(properties, "api_version");
  device.vendor_id = static_cast<std::uint32_t>(get_uint(properties, "vendor_id").value_or(0));
  device.device_id = static_cast<std::uint32_t>(get_uint(properties, "device_id").value_or(0));
  if (const auto pci = get_string(properties, "pci")) device.pci = parse_pci_address(*pci);
  const auto& heaps = document.value("vkGetPhysicalDeviceMemoryProperties" + index);
  if (!heaps.is_array()) return device;
  std::uint64_t local = 0;
  for (const auto& heap : heaps)
    if (get_bool(heap, "device_local").value_or(false))
      local += get_uint(heap, "bytes").value_or(0);
  if (local > 0) device.memory_bytes = local;
  return device;
}

Gpu* find_gpu(Machine& machine, const VulkanDevice& device) {
  for (auto& gpu : machine.gpus)
    if (device.pci && gpu.pci == device.pci) return &gpu;
  // NVIDIA's device UUID is NVML's without "GPU-".
  if (device.uuid)
    if (auto* gpu = gpu_with_uuid(machine, "GPU-" + *device.uuid)) return gpu;
  if (device.pci) return nullptr;
  // Without an address, the only GPU of that vendor must be it.
  Gpu* only = nullptr;
  for (auto& gpu : machine.gpus) {
    if (gpu.vendor != vendor_with_pci_id(device.vendor_id) || gpu.vendor == Vendor::other) continue;
    if (only != nullptr) return nullptr;
    only = &gpu;
  }
  return only;
}

// Of a GPU that no other source knows (Arm's, Qualcomm's, ...) Vulkan is the only witness.
Gpu* add_gpu(Machine& machine, const VulkanDevice& device) {
  if (device.type != "discrete" && device.type != "integrated") return nullptr;
  const auto vendor = vendor_with_pci_id(device.vendor_id);
  const bool vendor_known = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                        [&](const Gpu& gpu) { return gpu.vendor == vendor; });
  if (device.pci) return &gpu_at(machine, *device.pci, vendor);
  if (vendor != Vendor::other && vendor_known) return nullptr;
  auto& gpu = machine.gpus.emplace_back();
  gpu.vendor = vendor;
  gpu.uuid = device.uuid;
  return &gpu;
}

void join_gpu(Machine& machine, const VulkanDevice& device) {
  if (device.software()) return;
  auto* gpu = find_gpu(machine, device);
  if (gpu == nullptr) gpu = add_gpu(machine, device);
  if (gpu == nullptr) return;
  add_source(*gpu, "vulkan");
  if (device.type == "integrated") gpu->integrated = true;
  if (gpu->name.empty() && !device.name.empty()) {
    gpu->name = device.name;
    gpu->name_source = "vulkan";
  }
  if (!gpu->memory.total_bytes && !gpu->integrated) gpu->memory.total_bytes = device.memory_bytes;
}
}  // namespace

void read_vulkan_files(Host& host, Machine& machine) {
  auto& files = machine.vulkan.icd_files;
  // The loader's documentation: these variables replace the search.
  for (const char* variable : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) {
    const auto named = host.environment(variable);
    if (!named || named->empty()) continue;
    for (const auto path : split(*named, ":")) files.emplace_back(printable(path));
    return;
  }
  for (const std::string folder : {"/etc/vulkan/icd.d", "/usr/local/etc/vulkan/icd.d",
                                   "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d"}) {
    const auto names = host.list_directory(folder);
    if (!names) continue;
    for (const auto& name : *names)
      if (name.ends_with(".json")) files.push_back(folder + "/" + name);
  }
}

void apply_vulkan(const ProbeDocument& document, Machine& machine) {
  auto& vulkan = machine.vulkan;
  vulkan.outcome = to_string(document.outcome);
  vulkan.loader_version = document.text("vkEnumerateInstanceVersion()");
  if (const auto* start = document.find("vkCreateInstance()"); start && !start->missing)
    vulkan.start = ApiStatus{"vkCreateInstance()", start->code, result_name(start->code)};
  const auto count = document.integer("vkEnumeratePhysicalDevices()").value_or(0);
  for (std::int64_t i = 0; i < std::min(count, kMostDevices); ++i) {
    auto device = read_device(document, i);
    if (device.name.empty()) continue;  // the probe stopped before it
    join_gpu(machine, device);
    vulkan.devices.push_back(std::move(device));
  }
}

}  // namespace gpuready
