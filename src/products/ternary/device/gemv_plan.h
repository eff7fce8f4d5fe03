// How a product of a few rows is laid over a GPU: pure, for any device.
#pragma once

#include "device/device.h"
#include "kernels/ternary_kernels.h"
#include "ternary/device/backend.h"

namespace gpuready::ternary {

struct GemvPlan {
  const Kernel* kernel = nullptr;
  unsigned rows = 1;  // of activations, at once
  LaunchShape shape;
  unsigned groups = 1;  // as TernaryGemvParams has them
  unsigned slices = 1, slice_tiles = 1, chunk_tiles = 1;
  // One block an SM: kernel takes TernaryStreamParams.
  bool streams = false;
  unsigned stages = 0;
  // Takes activations that are not quantised yet, where that is quicker than two kernels; or null.
  const Kernel* values_kernel = nullptr;
};

// `slices`: 1, 2, 4 or 8 warps a row tile; kStream for one block an SM, where that fits; 0 for what
// suits the device.
inline constexpr unsigned kStream = ~0u;
// `stages`: of a stream, from sm_90 on; 0 for what suits the weights.
GemvPlan gemv_plan(const DeviceInfo& device, Shape weights, std::int64_t rows, unsigned slices = 0,
                   unsigned stages = 0);

struct GpuCall;
Result<void> prepare_gemv(Device& device, const GemvPlan& plan);
Result<void> run_gemv(const GpuCall& call, const GemvPlan& plan);

}  // namespace gpuready::ternary
