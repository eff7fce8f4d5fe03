// Asks Vulkan's loader which devices there are. Nothing is created on a device. Layers are kept
// out: an overlay's code has no part in the answer.
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/vendor_codes.h"
#include "probe/ask.h"
#include "probe/library.h"
#include "probe/probes.h"

namespace gpuready {
namespace {
constexpr std::uint32_t kMostDevices = 64;

std::string version_text(std::uint32_t version) {
  return std::to_string(VK_API_VERSION_MAJOR(version)) + "." +
         std::to_string(VK_API_VERSION_MINOR(version)) + "." +
         std::to_string(VK_API_VERSION_PATCH(version));
}

// Each vendor packs driverVersion in its own way; NVIDIA in 10, 8, 8 and 6 bits.
std::string driver_version_text(std::uint32_t vendor, std::uint32_t version) {
  if (vendor != pci_vendor::kNvidia) return version_text(version);
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%u.%02u.%02u", version >> 22, version >> 14 & 0xff,
                version >> 6 & 0xff);
  return out.data();
}

const char* type_name(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "cpu";
    default:
      return "other";
  }
}

std::string uuid_text(const std::uint8_t (&bytes)[VK_UUID_SIZE]) {
  std::string out;
  for (int i = 0; i < static_cast<int>(VK_UUID_SIZE); ++i) {
    std::array<char, 4> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += digits.data();
  }
  return out;
}

struct Functions {
  explicit Functions(PFN_vkGetInstanceProcAddr get, VkInstance instance)
      : destroy(load<PFN_vkDestroyInstance>(get, instance, "vkDestroyInstance")),
        devices(load<PFN_vkEnumeratePhysicalDevices>(get, instance, "vkEnumeratePhysicalDevices")),
        properties(load<PFN_vkGetPhysicalDeviceProperties>(get, instance,
                                                           "vkGetPhysicalDeviceProperties")),
        properties2(load<PFN_vkGetPhysicalDeviceProperties2>(get, instance,
                                                             "vkGetPhysicalDeviceProperties2")),
        memory(load<PFN_vkGetPhysicalDeviceMemoryProperties>(
            get, instance, "vkGetPhysicalDeviceMemoryProperties")),
        extensions(load<PFN_vkEnumerateDeviceExtensionProperties>(
            get, instance, "vkEnumerateDeviceExtensionProperties")) {}

  PFN_vkDestroyInstance destroy;
  PFN_vkEnumeratePhysicalDevices devices;
  PFN_vkGetPhysicalDeviceProperties properties;
  PFN_vkGetPhysicalDeviceProperties2 properties2;
  PFN_vkGetPhysicalDeviceMemoryProperties memory;
  PFN_vkEnumerateDeviceExtensionProperties extensions;

 private:
  template <class Function>
  static Function load(PFN_vkGetInstanceProcAddr get, VkInstance instance, const char* name) {
    return reinterpret_cast<Function>(get(instance, name));
  }
};

bool has_extension(const Functions& vk, VkPhysicalDevice device, const char* name) {
  std::uint32_t count = 0;
  if (!vk.extensions || vk.extensions(device, nullptr, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkExtensionProperties> all(count);
  if (vk.extensions(device, nullptr, &count, all.data()) != VK_SUCCESS) return false;
  for (const auto& extension : all)
    if (std::string_view(extension.extensionName) == name) return true;
  return false;
}

void put_base(const VkPhysicalDeviceProperties& properties, Json& value) {
  value["name"] = std::string(properties.deviceName);
  value["type"] = type_name(properties.deviceType);
  value["vendor_id"] = properties.vendorID;
  value["device_id"] = properties.deviceID;
  value["api_version"] = version_text(properties.apiVersion);
  value["driver_version"] = driver_version_text(properties.vendorID, properties.driverVersion);
}

int ask_properties(const Functions& vk, VkPhysicalDevice device, Json& value) {
  VkPhysicalDeviceProperties base{};
  vk.properties(device, &base);
  if (!vk.properties2 || base.apiVersion < VK_API_VERSION_1_1) {
    put_base(base, value);
    return 0;
  }
  VkPhysicalDevicePCIBusInfoPropertiesEXT pci{};
  pci.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT;
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  VkPhysicalDeviceIDProperties id{};
  id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  all.pNext = &id;
  const bool has_pci = has_extension(vk, device, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
  const bool has_driver = base.apiVersion >= VK_API_VERSION_1_2;
  if (has_driver) id.pNext = &driver;
  if (has_pci) (has_driver ? driver.pNext : id.pNext) = &pci;
  vk.properties2(device, &all);

  put_base(all.properties, value);
  value["uuid"] = uuid_text(id.deviceUUID);
  if (has_driver) {
    value["driver_name"] = std::string(driver.driverName);
    value["driver_info"] = std::string(driver.driverInfo);
  }
  if (has_pci) {
    std::array<char, 32> address{};
    std::snprintf(address.data(), address.size(), "%04x:%02x:%02x.%x", pci.pciDomain, pci.pciBus,
                  pci.pciDevice, pci.pciFunction);
    value["pci"] = address.data();
  }
  return 0;
}

int ask_memory(const Functions& vk, VkPhysicalDevice device, Json& value) {
  VkPhysicalDeviceMemoryProperties memory{};
  vk.memory(device, &memory);
  value = Json::array();
  for (std::uint32_t i = 0; i < memory.memoryHeapCount && i < VK_MAX_MEMORY_HEAPS; ++i)
    value.push_back(
        {{"bytes", memory.memoryHeaps[i].size},
         {"device_local", (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0}});
  return 0;
}

void ask_devices(ProbeWriter& writer, const Functions& vk, VkInstance instance) {
  std::vector<VkPhysicalDevice> devices(kMostDevices);
  const int code = ask(writer, "vkEnumeratePhysicalDevices()", [&](Json& value) {
    std::uint32_t count = kMostDevices;
    const VkResult result = vk.devices(instance, &count, devices.data());
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) return static_cast<int>(result);
    devices.resize(count);
    value = count;
    return 0;
  });
  if (code != 0) return;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string index = std::to_string(i);
    ask(writer, call_key("vkGetPhysicalDeviceProperties2", index),
        [&](Json& value) { return ask_properties(vk, devices[i], value); });
    ask(writer, call_key("vkGetPhysicalDeviceMemoryProperties", index),
        [&](Json& value) { return ask_memory(vk, devices[i], value); });
  }
}
}  // namespace

void probe_vulkan(ProbeWriter& writer, std::span<const std::string>) {
  setenv("VK_LOADER_LAYERS_DISABLE", "~all~", 1);
  unsetenv("VK_INSTANCE_LAYERS");
  const auto library =
      ProbeLibrary::load(writer, "libvulkan.so.1", "GPUREADY_VULKAN_LIBRARY",
                         {"libvulkan.so", "libvulkan.1.dylib", "libMoltenVK.dylib"});
  if (!library) return;
  const auto get =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(library->symbol("vkGetInstanceProcAddr"));
  if (get == nullptr) return writer.missing("vkGetInstanceProcAddr()");

  // Absent from Vulkan 1.0's loader, which then is 1.0.
  std::uint32_t version = VK_API_VERSION_1_0;
  const auto enumerate =
      reinterpret_cast<PFN_vkEnumerateInstanceVersion>(get(nullptr, "vkEnumerateInstanceVersion"));
  if (enumerate == nullptr)
    writer.missing("vkEnumerateInstanceVersion()");
  else
    ask(writer, "vkEnumerateInstanceVersion()", [&](Json& value) {
      const int code = enumerate(&version);
      value = version_text(version);
      return code;
    });

  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
  if (create == nullptr) return writer.missing("vkCreateInstance()");
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "gpuready";
  application.apiVersion = version >= VK_API_VERSION_1_2 ? VK_API_VERSION_1_2 : version;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  const int created = ask(writer, "vkCreateInstance()", [&](Json&) {
    return static_cast<int>(create(&info, nullptr, &instance));
  });
  if (created != 0) return;

  const Functions vk(get, instance);
  if (!vk.devices || !vk.properties || !vk.memory)
    return writer.missing("vkEnumeratePhysicalDevices()");
  ask_devices(writer, vk, instance);
  // The instance is left to the end of the process: tearing a driver down proves nothing and may
  // hang.
}

}  // namespace gpuready
