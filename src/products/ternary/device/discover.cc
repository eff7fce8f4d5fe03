// The GPUs that the drivers show to this process. Nothing is opened yet.
#include "base/text.h"
#include "device/cuda/cuda_identity.h"
#include "device/vulkan/vulkan_facts.h"
#include "device/vulkan/vulkan_library.h"
#include "ternary/device/choose.h"
#include "ternary/device/gpu_backend.h"

namespace gpuready::ternary {
namespace {

std::optional<int> attribute(const CudaDriver& driver, CudaAttribute which, int number) {
  int value = 0;
  if (!driver.device_attribute(&value, which, number)) return std::nullopt;
  return value;
}

void add_failure(Discovery& found, std::string_view kind, const Error& error) {
  const std::string text = std::string(kind) + ": " + error.message;
  found.reasons.push_back(text);
  constexpr int kNoCudaDevice = 100;   // CUDA_ERROR_NO_DEVICE: there is none, or all are hidden
  constexpr int kNoVulkanDriver = -9;  // VK_ERROR_INCOMPATIBLE_DRIVER: the loader found none
  const bool none = error.kind == ErrorKind::not_found ||
                    error.code == (kind == "cuda" ? kNoCudaDevice : kNoVulkanDriver);
  if (!none) found.failures.push_back({ErrorKind::no_device, text, error.code});
}

void discover_cuda(Discovery& found) {
  const auto driver = CudaDriver::start();
  if (!driver) return add_failure(found, "cuda", driver.error());
  const auto identities = list_cuda_identities(**driver);
  if (!identities) return add_failure(found, "cuda", identities.error());
  if (identities->empty()) found.reasons.emplace_back("cuda: the driver shows no GPU");
  int index = 0;
  for (const CudaDeviceIdentity& identity : *identities) {
    GpuCandidate gpu;
    gpu.kind = BackendKind::cuda;
    gpu.id = identity.uuid;
    gpu.index = index++;
    char name[256] = {};
    if ((*driver)->device_name(name, sizeof name - 1, identity.number)) gpu.name = printable(name);
    const auto major =
        attribute(**driver, CudaAttribute::compute_capability_major, identity.number);
    const auto minor =
        attribute(**driver, CudaAttribute::compute_capability_minor, identity.number);
    if (major && minor) gpu.compute_capability = 10 * *major + *minor;
    gpu.open = [id = gpu.id] { return make_cuda_backend(id); };
    found.gpus.push_back(std::move(gpu));
  }
}

void discover_vulkan(Discovery& found) {
  const auto vulkan = VulkanLibrary::start();
  if (!vulkan) return add_failure(found, "vulkan", vulkan.error());
  const auto devices = (*vulkan)->devices();
  if (!devices) return add_failure(found, "vulkan", devices.error());
  if (devices->empty()) found.reasons.emplace_back("vulkan: there is no device");
  int index = 0;
  for (const VkPhysicalDevice device : *devices) {
    VkPhysicalDeviceProperties properties{};
    (*vulkan)->GetPhysicalDeviceProperties(device, &properties);
    GpuCandidate gpu;
    gpu.kind = BackendKind::vulkan;
    gpu.id = vulkan_device_uuid(**vulkan, device);
    gpu.index = index++;
    gpu.name = printable(properties.deviceName);
    gpu.software = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    gpu.open = [id = gpu.id] { return make_vulkan_backend(id); };
    if (!gpu.id.empty()) found.gpus.push_back(std::move(gpu));
  }
}

}  // namespace

Discovery discover_gpus(const Target& target) {
  Discovery found;
  const bool automatic = target.kind == TargetKind::automatic;
  if (automatic || target.kind == TargetKind::cuda) discover_cuda(found);
  // On NVIDIA's GPUs both are there, and CUDA comes first.
  if (target.kind == TargetKind::vulkan || (automatic && found.gpus.empty()))
    discover_vulkan(found);
  return found;
}

}  // namespace gpuready::ternary
