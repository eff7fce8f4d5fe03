// Matrix products of ternary weights on a GPU's matrix units: which kernel and tiles a product
// takes, the workspace that it needs, and its launches on a stream. Nothing is allocated and
// nothing is waited for; all memory is the caller's.
#pragma once

#include <cstdint>
#include <optional>

#include "device/device.h"
#include "gpuready/ternary.h"
#include "kernel_abi/ternary_gemm_params.h"
#include "ternary/device/gpu_types.h"

namespace gpuready::ternary {

enum class GemmKernel {
  mma,    // mma.sync.m16n8k32, from compute capability 8.0
  wgmma,  // only 9.0
};

// The best that the device has; nothing below 8.0.
std::optional<GemmKernel> gemm_kernel_of(const DeviceInfo& device);

struct GemmTileSize {
  unsigned features = 0, tokens = 0;
  bool operator==(const GemmTileSize&) const = default;
};
// Of wgmma's kernels.
std::span<const GemmTileSize> wgmma_tile_sizes();

struct GemmPlan {
  GemmKernel kernel = GemmKernel::mma;
  GemmTileSize tile;
  unsigned rows = 0, features = 0, k_tiles = 0;
  unsigned token_tiles = 0, feature_tiles = 0;
  unsigned split_tiles = 0, blocks = 0;  // see GemmParams
  std::uint64_t workspace_bytes = 0;     // for parts of split tiles, aligned to 256 bytes
};
// `units` is the device's number of SMs. Rows and the weights' rows must be at least 1 and below
// 2^31, the columns at least 1 and at most 2^22.
GemmPlan plan_gemm(GemmKernel kernel, unsigned units, Shape weights, std::int64_t rows);
// With such tiles of wgmma's, and what whole rounds of tiles leave over split or not: for tests and
// measurements.
GemmPlan plan_gemm(unsigned units, Shape weights, std::int64_t rows, GemmTileSize tile, bool split);

// For weights whose scales differ within a row, in groups of `group` columns; only by wgmma.
GemmPlan plan_gemm_groups(unsigned units, Shape weights, std::int64_t rows, unsigned group);

// Device memory for the tiles of this many activations.
std::uint64_t gemm_tiles_bytes(std::int64_t rows, std::int64_t cols);

// Asynchronous: quantises `rows` rows of values into the activations' tiles and row facts, and the
// codes of the first kMatrixRows.
Result<void> enqueue_gemm_quantise(Device& device, StreamId stream, DeviceAddress values,
                                   FloatType type, std::int64_t rows,
                                   const GpuActivationsView& target);
// The tiles from the codes, all of which are there.
Result<void> enqueue_gemm_tiles(Device& device, StreamId stream, std::int64_t rows,
                                const GpuActivationsView& activations);
Result<void> enqueue_gemm_product(Device& device, StreamId stream, const GemmPlan& plan,
                                  const GpuWeightsView& weights,
                                  const GpuActivationsView& activations, DeviceAddress workspace,
                                  const GpuOutput& out);
// Loads the code of the above, so that no launch waits for it.
Result<void> prepare_gemm_kernels(Device& device, GemmKernel kernel);
Result<void> prepare_gemm_groups(Device& device);  // with plan_gemm_groups()

// For gpu_products(), the better first. They serve kMatrixRows rows and more, from tiles.
std::span<const GpuProduct, 2> gemm_products();

}  // namespace gpuready::ternary
