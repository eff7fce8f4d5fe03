// Matrix products of ternary weights on a GPU's matrix units: which kernel and tiles a product
// takes, the workspace that it needs, and its launches on a stream. Nothing is allocated and
// nothing is waited for; all memory is the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "device/device.h"
#include "gpuready/ternary.h"
#include "kernels/ternary_gemm_params.h"

namespace gpuready::ternary {

enum class GemmKernel {
  mma,    // mma.sync.m16n8k32, from compute capability 8.0
  wgmma,  // 9.0 alone
};
std::string_view to_string(GemmKernel kernel);  // "int8-mma", "int8-wgmma"

// The best that the device has; nothing below 8.0.
std::optional<GemmKernel> gemm_kernel_of(const DeviceInfo& device);

struct GemmPlan {
  GemmKernel kernel = GemmKernel::mma;
  unsigned tokens = 0;  // of a tile
  unsigned rows = 0, features = 0, cols = 0;
  unsigned k_tiles = 0, token_tiles = 0, feature_tiles = 0;
  unsigned split_tiles = 0, blocks = 0;  // see GemmParams
  // Offsets into the workspace, which must be aligned to 256 bytes.
  std::uint64_t tiles = 0, steps = 0, sums = 0, counters = 0, partials = 0;
  std::uint64_t workspace_bytes = 0;
};
// `units` is the device's number of SMs. Rows, and weights' rows and columns, must be at least 1
// and below 2^31, and the columns at most 2^22.
GemmPlan plan_gemm(GemmKernel kernel, unsigned units, Shape weights, std::int64_t rows);
// With tiles of so many tokens, and that many tiles split: for tests and measurements. wgmma alone.
GemmPlan plan_gemm(unsigned units, Shape weights, std::int64_t rows, unsigned tokens, bool split);

// Rows to be multiplied, in device memory.
struct GemmInputs {
  GemmInput type = kGemmF32;
  DeviceAddress values = 0;
  DeviceAddress steps = 0;       // of int8, f32 a row; 0: all 1
  DeviceAddress not_finite = 0;  // a 32-bit word, set to 1 when a value is NaN or infinite
};
struct GemmWeights {
  DeviceAddress words = 0;   // in the layout of kernels/ternary_layout.h
  DeviceAddress scales = 0;  // f32 a row of the weights; not read for int32
};

// Fills the workspace's tiles, steps and sums.
gpuready::Result<void> enqueue_gemm_prepare(Device& device, StreamId stream, const GemmPlan& plan,
                                            const GemmInputs& inputs, DeviceAddress workspace);
// Multiplies what the workspace holds; once after each enqueue_gemm_prepare().
gpuready::Result<void> enqueue_gemm_product(Device& device, StreamId stream, const GemmPlan& plan,
                                            const GemmWeights& weights, DeviceAddress workspace,
                                            GemmOutput type, DeviceAddress out);
// Loads the code, so that no launch waits for it.
gpuready::Result<void> prepare_gemm_kernels(Device& device, GemmKernel kernel);

}  // namespace gpuready::ternary
