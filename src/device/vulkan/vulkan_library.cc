#include "device/vulkan/vulkan_library.h"

#include <fmt/format.h>

#include <cstdlib>

#include "device/driver_library.h"

namespace gpuready {
namespace {

struct KnownResult {
  VkResult result;
  std::string_view name;
  DeviceFault fault;
};
// Vulkan specification, VkResult. A device is lost by a hardware fault, by a hang, or by a
// watchdog that ended a long launch: the code does not tell which.
constexpr KnownResult kResults[] = {
    {VK_NOT_READY, "VK_NOT_READY", DeviceFault::none},
    {VK_TIMEOUT, "VK_TIMEOUT", DeviceFault::timed_out},
    {VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY", DeviceFault::out_of_memory},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY", DeviceFault::out_of_memory},
    {VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED", DeviceFault::unavailable},
    {VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST", DeviceFault::unclear},
    {VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED", DeviceFault::out_of_memory},
    {VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT", DeviceFault::none},
    {VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT", DeviceFault::none},
    {VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT", DeviceFault::none},
    {VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER", DeviceFault::unavailable},
    {VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS", DeviceFault::out_of_memory},
    {VK_ERROR_FRAGMENTED_POOL, "VK_ERROR_FRAGMENTED_POOL", DeviceFault::out_of_memory},
    {VK_ERROR_INVALID_SHADER_NV, "VK_ERROR_INVALID_SHADER_NV", DeviceFault::refuses_code},
    {VK_ERROR_NOT_PERMITTED_KHR, "VK_ERROR_NOT_PERMITTED", DeviceFault::unavailable},
    {VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN", DeviceFault::unclear},
};

const KnownResult* find_result(VkResult result) {
  for (const KnownResult& known : kResults)
    if (known.result == result) return &known;
  return nullptr;
}

Result<VkInstance> create_instance(PFN_vkGetInstanceProcAddr get) {
  const auto enumerate_version =
      reinterpret_cast<PFN_vkEnumerateInstanceVersion>(get(nullptr, "vkEnumerateInstanceVersion"));
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
  std::uint32_t version = VK_API_VERSION_1_0;
  if (enumerate_version) (void)enumerate_version(&version);
  if (version < VK_API_VERSION_1_2 || !create)
    return fail(ErrorKind::unsupported,
                fmt::format("the Vulkan loader is of version {}.{}, and 1.2 is needed",
                            VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version)));
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "gpuready";
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  TRY(vulkan_checked("vkCreateInstance", create(&info, nullptr, &instance)));
  return instance;
}

Result<VulkanLibrary> open_library() {
  ::setenv("VK_LOADER_LAYERS_DISABLE", "~all~", 0);
  const auto opened = TRY(open_driver_library("the Vulkan loader", "GPUREADY_VULKAN_LIBRARY",
                                              {"libvulkan.so.1", "libvulkan.so"}));
  const auto get =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(find_symbol(opened, "vkGetInstanceProcAddr"));
  if (!get)
    return fail(ErrorKind::unsupported,
                fmt::format("{} has no vkGetInstanceProcAddr", opened.path));
  auto instance = TRY(create_instance(get));
  VulkanLibrary library;
  library.path = opened.path;
  library.instance = instance;
  const char* missing = nullptr;
#define GPUREADY_LOOK_UP(name)                                                      \
  library.name = reinterpret_cast<PFN_vk##name>(get(library.instance, "vk" #name)); \
  if (!library.name) missing = "vk" #name;
  GPUREADY_VULKAN_FUNCTIONS(GPUREADY_LOOK_UP)
#undef GPUREADY_LOOK_UP
  if (missing)
    return fail(ErrorKind::unsupported,
                fmt::format("the Vulkan loader has no {}: it is too old", missing));
  return library;
}

}  // namespace

Result<const VulkanLibrary*> VulkanLibrary::start() {
  static const Result<VulkanLibrary> library = open_library();
  if (!library) return std::unexpected(library.error());
  return &*library;
}

Result<std::vector<VkPhysicalDevice>> VulkanLibrary::devices() const {
  std::uint32_t count = 64;
  std::vector<VkPhysicalDevice> found(count);
  const VkResult result = EnumeratePhysicalDevices(instance, &count, found.data());
  if (result != VK_INCOMPLETE)
    if (auto done = vulkan_checked("vkEnumeratePhysicalDevices", result); !done)
      return std::unexpected(done.error());
  found.resize(count);
  return found;
}

std::string_view vulkan_result_name(VkResult result) {
  const KnownResult* known = find_result(result);
  return known ? known->name : "a VkResult unknown here";
}

Result<void> vulkan_checked(std::string_view call, VkResult result) {
  if (result == VK_SUCCESS) return {};
  return fail(
      ErrorKind::device,
      fmt::format("{}: {} ({})", call, vulkan_result_name(result), static_cast<int>(result)),
      result);
}

DeviceFault vulkan_fault_of(const Error& error) {
  if (error.kind == ErrorKind::not_found) return DeviceFault::unavailable;
  if (error.kind == ErrorKind::too_large) return DeviceFault::out_of_memory;
  if (error.kind != ErrorKind::device) return DeviceFault::none;
  const KnownResult* known = find_result(static_cast<VkResult>(error.code));
  return known ? known->fault : DeviceFault::unclear;
}

std::string format_vulkan_uuid(const std::uint8_t (&bytes)[VK_UUID_SIZE]) {
  std::string text;
  for (std::size_t i = 0; i < VK_UUID_SIZE; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

}  // namespace gpuready
