// The kernels that multiply on a GPU, the best first.
#include <algorithm>
#include <array>

#include "ternary_device/gemv_plan.h"
#include "ternary_device/gpu_types.h"

namespace gpuready::ternary {
namespace {

bool any(const DeviceInfo&, Shape, std::int64_t) { return true; }
bool has_dp4a(const DeviceInfo& device, Shape, std::int64_t) {
  return device.compute_capability.value_or(0) >= 61;
}
// Several rows at once, by matrix instructions.
bool has_mma(const DeviceInfo& device, Shape, std::int64_t rows) {
  return rows > 1 && device.compute_capability.value_or(0) >= 80;
}
bool is_vulkan(const DeviceInfo& device, Shape, std::int64_t) {
  return device.executor == "vulkan";
}
std::uint64_t no_workspace(const DeviceInfo&, Shape, std::int64_t) { return 0; }

gpuready::Result<void> prepare_gemv(Device& device, Shape weights, std::int64_t rows) {
  const GemvPlan plan = gemv_plan(device.info(), weights, rows);
  if (auto ready = device.prepare(*plan.kernel); !ready) return ready;
  // Which also allows it that much shared memory.
  const auto blocks =
      device.resident_blocks(*plan.kernel, plan.shape.threads, plan.shape.shared_bytes);
  if (!blocks) return std::unexpected(blocks.error());
  return {};
}
gpuready::Result<void> run_planned_gemv(const GpuCall& call) {
  return run_gemv(call, gemv_plan(call.device.info(), call.weights.shape, call.rows));
}

constexpr std::array kProducts = {
    GpuProduct{"vulkan-gemv", is_vulkan, no_workspace, prepare_gemv, run_planned_gemv},
    GpuProduct{"mma-gemv", has_mma, no_workspace, prepare_gemv, run_planned_gemv},
    GpuProduct{"dp4a-gemv", has_dp4a, no_workspace, prepare_gemv, run_planned_gemv},
    GpuProduct{"plain-gemv", any, no_workspace, prepare_gemv, run_planned_gemv},
};

}  // namespace

std::span<const GpuProduct> gpu_products() { return kProducts; }

}  // namespace gpuready::ternary
