// Weights, activations and results where a GPU keeps them, and one product of them.
#pragma once

#include <cstdint>

#include "device/device.h"
#include "kernel_abi/ternary_layout.h"
#include "kernel_abi/ternary_params.h"
#include "ternary/device/backend.h"

namespace gpuready::ternary {

struct GpuWeightsView {
  DeviceAddress tiles = 0;   // ternary_layout.h
  DeviceAddress scales = 0;  // f32 a row
  // Where scales are by group: f32 [row_tiles][groups][16].
  DeviceAddress group_scales = 0;
  Shape shape;
  std::uint32_t row_tiles = 0, col_tiles = 0;
  float greatest_scale = 0;  // as detail::CpuWeights has it, and both kinds of scales
  std::uint32_t group = 0;   // columns that share a scale; 0: a row
  bool tiny_scales = false;  // below kLeastWgmmaScale, but not zero; of groups
};

struct GpuActivationsView {
  DeviceAddress codes = 0;  // int8 [padded_rows][stride]; zeros behind the last column
  DeviceAddress rows = 0;   // GpuActivationRow [padded_rows]
  std::int64_t capacity_rows = 0, cols = 0;
  std::uint32_t padded_rows = 0;  // a multiple of kGpuRowPadding, readable
  std::uint32_t stride = 0;       // bytes, a multiple of kTileCols
  // The same int8 as matrix products take it (ternary_gemm_params.h); 0: no room for it. Written
  // when at least kMatrixRows rows are; then codes hold only the first kMatrixRows rows.
  DeviceAddress tiles = 0;
};
inline constexpr std::uint32_t kGpuRowPadding = 64;
inline constexpr std::int64_t kMatrixRows = 17;  // from here on products go tile by tile

// Activations that are not quantised yet, [rows][cols]; 0: they are.
struct GpuValues {
  DeviceAddress address = 0;
  FloatType type = FloatType::f32;
};

// M * N elements, row-major.
struct GpuOutput {
  OutputType type = OutputType::f32;
  AddressRange memory;  // exactly as large
  // [N] and [M][N], added to what is not int32 (only CUDA); none where they are empty.
  struct Addend {
    AddressRange memory = {};
    FloatType type = FloatType::f32;
  };
  Addend bias = {}, residual = {};

  bool adds() const { return bias.memory.bytes > 0 || residual.memory.bytes > 0; }
  TernaryAddends addends() const {
    const auto word = [](const Addend& a) {
      return a.memory.bytes > 0 ? addend_word(a.memory.address, static_cast<unsigned>(a.type)) : 0;
    };
    return {word(bias), word(residual)};
  }
};

// One product that was checked: sizes fit, M is at least 1.
struct GpuCall {
  Device& device;
  StreamId stream;
  const GpuWeightsView& weights;
  const GpuActivationsView& activations;
  std::int64_t rows;  // M, the first of the activations'
  GpuOutput out;
  AddressRange workspace;  // at least what the product's workspace_bytes() said
  // Only for a product that fuses(): it quantises these, and writes the activations' rows.
  GpuValues values = {};
};

// A kernel that multiplies. gpu_products() lists them; the first that serves a call is taken.
struct GpuProduct {
  std::string_view name;  // "dp4a-gemv"
  bool (*serves)(const DeviceInfo& device, Shape weights, std::int64_t rows);
  std::uint64_t (*workspace_bytes)(const DeviceInfo& device, Shape weights, std::int64_t rows);
  // Loads the code, so that run() does not: it may be called while a graph is captured.
  Result<void> (*prepare)(Device& device, Shape weights, std::int64_t rows);
  Result<void> (*run)(const GpuCall& call);  // asynchronous, without allocation
  // Whether it quantises too, quicker than a kernel before it.
  bool (*fuses)(const DeviceInfo& device, Shape weights, std::int64_t rows) = nullptr;
};
std::span<const GpuProduct> gpu_products();
const GpuProduct& product_for(const DeviceInfo& device, Shape weights, std::int64_t rows);

}  // namespace gpuready::ternary
