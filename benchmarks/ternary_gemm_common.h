// What the parts of bench_ternary_gemm share.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "kernel_abi/ternary_layout.h"
#include "ternary/device/gpu_gemm.h"
#include "ternary_common.h"

namespace gpuready::ternary {

struct Problem {
  std::int64_t m = 0, n = 0, k = 0;
};

class Buffers {
 public:
  explicit Buffers(Device& device) : device_(device) {}
  DeviceAddress make(std::uint64_t bytes) {
    buffers_.push_back(must(DeviceBuffer::make(device_, std::max<std::uint64_t>(bytes, 256))));
    return buffers_.back().address();
  }
  template <class T>
  DeviceAddress put(const std::vector<T>& values) {
    const DeviceAddress address = make(values.size() * sizeof(T));
    must(device_.copy_to_device({}, address, values.data(), values.size() * sizeof(T)));
    must(device_.synchronize({}));
    return address;
  }

 private:
  Device& device_;
  std::vector<DeviceBuffer> buffers_;
};

// As the engine's: padded rows, a stride of whole tiles.
inline GpuActivationsView make_rows(Buffers& buffers, std::int64_t m, std::int64_t k) {
  GpuActivationsView view;
  view.capacity_rows = m;
  view.cols = k;
  view.padded_rows =
      static_cast<std::uint32_t>(m + kGpuRowPadding - 1) / kGpuRowPadding * kGpuRowPadding;
  view.stride =
      static_cast<std::uint32_t>(tiles_of(static_cast<std::uint64_t>(k), kTileCols)) * kTileCols;
  view.codes = buffers.make(std::uint64_t{view.padded_rows} * view.stride);
  view.rows = buffers.make(view.padded_rows * sizeof(GpuActivationRow));
  view.tiles = buffers.make(gemm_tiles_bytes(m, k));
  return view;
}

// Every way in which a product can be done there.
inline std::vector<GemmPlan> plans_of(Device& device, Problem p, bool automatic_too) {
  const unsigned units = device.info().units;
  const Shape shape{p.n, p.k};
  std::vector<GemmPlan> plans;
  if (gemm_kernel_of(device.info()) != GemmKernel::mma) {
    for (const GemmTileSize tile : wgmma_tile_sizes())
      for (const bool split : {false, true}) {
        GemmPlan plan = plan_gemm(units, shape, p.m, tile, split);
        if (!split || plan.split_tiles != 0) plans.push_back(plan);
      }
    if (automatic_too) plans.push_back(plan_gemm(GemmKernel::wgmma, units, shape, p.m));
  }
  plans.push_back(plan_gemm(GemmKernel::mma, units, shape, p.m));
  return plans;
}

inline std::string_view to_string(GemmKernel kernel) {
  return gemm_products()[kernel == GemmKernel::wgmma ? 0 : 1].name;
}

// 0 when all bits are the CPU's.
int check_gemm(Device& device);

}  // namespace gpuready::ternary
