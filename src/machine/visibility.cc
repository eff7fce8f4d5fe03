// Environment variables that hide or select GPUs.
#include "machine/sources.h"

namespace gpuready {
namespace {
struct Variable {
  const char* name;
  std::optional<std::string> Visibility::* field;
};
constexpr Variable kVariables[] = {
    {"CUDA_VISIBLE_DEVICES", &Visibility::cuda_visible_devices},
    {"CUDA_DEVICE_ORDER", &Visibility::cuda_device_order},
    {"NVIDIA_VISIBLE_DEVICES", &Visibility::nvidia_visible_devices},
    {"NVIDIA_DRIVER_CAPABILITIES", &Visibility::nvidia_driver_capabilities},
    {"ROCR_VISIBLE_DEVICES", &Visibility::rocr_visible_devices},
    {"HIP_VISIBLE_DEVICES", &Visibility::hip_visible_devices},
    {"GPU_DEVICE_ORDINAL", &Visibility::gpu_device_ordinal},
    {"ZE_AFFINITY_MASK", &Visibility::ze_affinity_mask},
    {"HSA_OVERRIDE_GFX_VERSION", &Visibility::hsa_override_gfx_version},
};
}  // namespace

void read_visibility(Host& host, Machine& machine) {
  for (const auto& variable : kVariables)
    machine.visibility.*variable.field = host.environment(variable.name);
}

}  // namespace gpuready
