// The kernels that multiply on a GPU, the best first.
#include <algorithm>
#include <array>

#include "ternary/device/gemv_plan.h"
#include "ternary/device/gpu_gemm.h"
#include "ternary/device/gpu_types.h"

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

Result<void> prepare_planned(Device& device, Shape weights, std::int64_t rows) {
  return prepare_gemv(device, gemv_plan(device.info(), weights, rows));
}
Result<void> run_planned(const GpuCall& call) {
  return run_gemv(call, gemv_plan(call.device.info(), call.weights.shape, call.rows));
}
bool fuses(const DeviceInfo& device, Shape weights, std::int64_t rows) {
  return gemv_plan(device, weights, rows).values_kernel != nullptr;
}

}  // namespace

std::span<const GpuProduct> gpu_products() {
  static const std::array products = {
      gemm_products()[0],
      gemm_products()[1],
      GpuProduct{"vulkan-gemv", is_vulkan, no_workspace, prepare_planned, run_planned, fuses},
      GpuProduct{"mma-gemv", has_mma, no_workspace, prepare_planned, run_planned, fuses},
      GpuProduct{"dp4a-gemv", has_dp4a, no_workspace, prepare_planned, run_planned, fuses},
      GpuProduct{"plain-gemv", any, no_workspace, prepare_planned, run_planned, fuses},
  };
  return products;
}

const GpuProduct& product_for(const DeviceInfo& device, Shape weights, std::int64_t rows) {
  const auto products = gpu_products();
  return *std::find_if(products.begin(), products.end(), [&](const GpuProduct& product) {
    return product.serves(device, weights, rows);
  });
}

}  // namespace gpuready::ternary
