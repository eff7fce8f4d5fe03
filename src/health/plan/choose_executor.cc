#include "health/plan/choose_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/vendor_codes.h"
#include "device/hip/hip_images.h"

namespace gpuready {
namespace {

Result<DeviceChoice> through_cuda(const Machine& machine, const Gpu& gpu) {
  if (gpu.vendor != Vendor::nvidia)
    return fail(ErrorKind::unsupported,
                fmt::format("{} GPUs are not tested by cuda", to_string(gpu.vendor)));
  if (const auto& start = machine.nvidia.cuda_start;
      start && !start->ok() && start->code != cuda_code::kNoDevice)
    return fail(ErrorKind::device,
                fmt::format("the CUDA driver does not start: {} ({})", start->name, start->code),
                start->code);
  if (const auto& outcome = machine.nvidia.cuda_outcome;
      !machine.nvidia.cuda_start && outcome && *outcome != "completed" && *outcome != "not_asked")
    return fail(ErrorKind::not_found, *outcome == "no_library"
                                          ? "libcuda.so.1 was not found"
                                          : "asking the CUDA driver ended as " + *outcome);
  if (!gpu.uuid)
    return fail(ErrorKind::not_found,
                "its UUID is unknown, so a child process cannot be restricted to it");
  return DeviceChoice{"cuda", *gpu.uuid};
}

// The child opens it by its address, and its code is the one embedded for its target.
Result<DeviceChoice> through_hip(const Machine& machine, const Gpu& gpu) {
  if (gpu.vendor != Vendor::amd)
    return fail(ErrorKind::unsupported,
                fmt::format("{} GPUs are not tested by hip", to_string(gpu.vendor)));
  if (const auto& outcome = machine.amd.outcome;
      outcome && *outcome != "completed" && *outcome != "not_asked")
    return fail(ErrorKind::not_found, *outcome == "no_library"
                                          ? "libamdhip64.so, the HIP runtime, was not found"
                                          : "asking ROCm ended as " + *outcome);
  if (const auto& start = machine.amd.start; start && !start->ok())
    return fail(ErrorKind::device,
                fmt::format("ROCm does not start: {} ({})", start->name, start->code), start->code);
  if (!gpu.pci || !gpu.gfx_target)
    return fail(ErrorKind::not_found,
                "the kernel driver does not report its gfx target, which selects its code");
  if (!has_hip_image(*gpu.gfx_target))
    return fail(ErrorKind::not_found,
                fmt::format("no HIP code for {} is embedded", *gpu.gfx_target));
  return DeviceChoice{"hip", gpu.pci->text() + "/" + *gpu.gfx_target};
}

bool same_gpu(const VulkanDevice& device, const Gpu& gpu) {
  if (device.software()) return false;
  if (device.pci && gpu.pci) return device.pci == gpu.pci;
  // NVIDIA's device UUID is NVML's without "GPU-".
  return device.uuid && gpu.uuid && (gpu.uuid == device.uuid || *gpu.uuid == "GPU-" + *device.uuid);
}

Result<DeviceChoice> through_vulkan(const Machine& machine, const Gpu& gpu) {
  if (gpu.mig_enabled.value_or(false))
    return fail(ErrorKind::unsupported, "Vulkan does not run on MIG instances");
  for (const VulkanDevice& device : machine.vulkan.devices)
    if (device.uuid && same_gpu(device, gpu)) return DeviceChoice{"vulkan", *device.uuid};
  return fail(ErrorKind::unsupported, "Vulkan shows no device that is it");
}

struct Executor {
  std::string_view name;
  Result<DeviceChoice> (*choose)(const Machine& machine, const Gpu& gpu);
};
// By priority. The CPU is not a GPU's executor, but a name for --device.
constexpr std::array kExecutors = {Executor{"cuda", through_cuda}, Executor{"hip", through_hip},
                                   Executor{"vulkan", through_vulkan}, Executor{"cpu", nullptr}};

}  // namespace

bool is_executor_name(std::string_view name) {
  return std::any_of(kExecutors.begin(), kExecutors.end(),
                     [&](const Executor& executor) { return executor.name == name; });
}

std::optional<std::string> forced_executor(const std::vector<std::string>& devices) {
  for (const std::string& name : devices)
    if (is_executor_name(name) && name != "cpu") return name;
  return std::nullopt;
}

Result<DeviceChoice> choose_executor(const Machine& machine, const Gpu& gpu,
                                     const std::optional<std::string>& forced) {
  std::optional<Error> first_error;
  for (const Executor& executor : kExecutors) {
    if (!executor.choose || (forced && *forced != executor.name)) continue;
    auto chosen = executor.choose(machine, gpu);
    if (chosen) return chosen;
    // Why the vendor's own executor cannot serve says more than why a general one cannot.
    if (!first_error || first_error->kind == ErrorKind::unsupported)
      first_error = std::move(chosen.error());
  }
  if (!forced && first_error && first_error->kind == ErrorKind::unsupported)
    return fail(ErrorKind::unsupported, fmt::format("{} GPUs are tested through Vulkan, and {}",
                                                    to_string(gpu.vendor), first_error->message));
  return std::unexpected(first_error.value_or(Error{ErrorKind::unsupported, "no executor", 0}));
}

}  // namespace gpuready
