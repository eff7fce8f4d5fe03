// Environment variables that hide or select GPUs.
#include <algorithm>

#include "machine/inspect.h"
#include "machine/sources.h"

namespace gpuready {
namespace {
struct Variable {
  const char* name;
  std::optional<std::string> Visibility::* field;
  bool hides = false;  // GPUs, from the process that has it; a container's own is not meant
};
constexpr Variable kVariables[] = {
    {"CUDA_VISIBLE_DEVICES", &Visibility::cuda_visible_devices, true},
    {"CUDA_DEVICE_ORDER", &Visibility::cuda_device_order},
    {"NVIDIA_VISIBLE_DEVICES", &Visibility::nvidia_visible_devices},
    {"NVIDIA_DRIVER_CAPABILITIES", &Visibility::nvidia_driver_capabilities},
    {"ROCR_VISIBLE_DEVICES", &Visibility::rocr_visible_devices, true},
    {"HIP_VISIBLE_DEVICES", &Visibility::hip_visible_devices, true},
    {"GPU_DEVICE_ORDINAL", &Visibility::gpu_device_ordinal, true},
    {"ZE_AFFINITY_MASK", &Visibility::ze_affinity_mask, true},
    {"HSA_OVERRIDE_GFX_VERSION", &Visibility::hsa_override_gfx_version},
};
}  // namespace

void read_visibility(Host& host, Machine& machine) {
  for (const auto& variable : kVariables)
    machine.visibility.*variable.field = host.environment(variable.name);
}

bool hides_gpus(const Visibility& visibility) {
  return std::ranges::any_of(kVariables, [&](const Variable& variable) {
    return variable.hides && visibility.*variable.field;
  });
}

std::vector<std::string> hiding_variables() {
  std::vector<std::string> names;
  for (const auto& variable : kVariables)
    if (variable.hides) names.emplace_back(variable.name);
  return names;
}

}  // namespace gpuready
