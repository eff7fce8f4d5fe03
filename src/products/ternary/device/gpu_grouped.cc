// Products with weights whose scales differ within a row, on CUDA devices.
#include "ternary/device/gpu_grouped.h"

#include <algorithm>

#include "base/units.h"
#include "kernels/ternary_kernels.h"
#include "ternary/device/gpu_gemm.h"

namespace gpuready::ternary {
namespace {

struct Choice {
  const Kernel* kernel;
  unsigned rows;           // of activations, at once
  unsigned padding_bytes;  // behind each in shared memory
};
const Choice kOne{&kTernaryGrouped1, 1, 0}, kFour{&kTernaryGrouped4, 4, 0},
    kSixteen{&kTernaryGrouped16, 16, kGemvMatrixPaddingBytes};

const Choice& choice_for(const DeviceInfo& device, std::int64_t rows) {
  if (rows == 1) return kOne;
  return rows > 4 && device.compute_capability.value_or(0) >= 80 ? kSixteen : kFour;
}

// Codes, their sums a piece of 32 columns, and the groups' terms, of each row; and scales.
unsigned shared_bytes(const Choice& choice, unsigned group, unsigned chunk_tiles) {
  const unsigned cols = chunk_tiles * kTileCols, of_groups = cols / group * kTileRows * 4;
  return choice.rows * (cols + choice.padding_bytes + cols / 32 * 4 + of_groups) + of_groups;
}

// Every GPU gives 48 KiB; more than 32 tiles spare little.
unsigned chunk_tiles(const Choice& choice, unsigned group, unsigned col_tiles) {
  unsigned tiles = std::min(32u, col_tiles + col_tiles % 2);
  while (tiles > 2 && shared_bytes(choice, group, tiles) > 47 * KiB) tiles -= 2;
  return tiles;
}

// From tiles of activations, as products with a scale a row are.
bool by_tiles(const DeviceInfo& device, std::int64_t rows) {
  return rows >= kMatrixRows && gemm_kernel_of(device) == GemmKernel::wgmma;
}

bool any_grouped(const DeviceInfo&, Shape, std::int64_t) { return true; }
std::uint64_t no_room(const DeviceInfo&, Shape, std::int64_t) { return 0; }

Result<void> prepare_grouped(Device& device, Shape, std::int64_t rows) {
  if (by_tiles(device.info(), rows)) TRY(prepare_gemm_groups(device));
  return device.prepare(*choice_for(device.info(), rows).kernel);
}

Result<void> run_grouped(const GpuCall& call) {
  const GpuWeightsView& weights = call.weights;
  if (by_tiles(call.device.info(), call.rows) && !weights.tiny_scales)
    return enqueue_gemm_product(
        call.device, call.stream,
        plan_gemm_groups(call.device.info().units, weights.shape, call.rows, weights.group),
        weights, call.activations, 0, call.out);
  const Choice& choice = choice_for(call.device.info(), call.rows);
  const bool tiled = call.activations.tiles != 0 && call.rows >= kMatrixRows;
  TernaryGroupedParams params{
      .tiles_address = weights.tiles,
      .scales_address = weights.scales,
      .codes_address = tiled ? call.activations.tiles : call.activations.codes,
      .rows_address = call.activations.rows,
      .out_address = call.out.memory.address,
      .weight_rows = static_cast<unsigned>(weights.shape.rows),
      .row_tiles = weights.row_tiles,
      .col_tiles = weights.col_tiles,
      .activation_rows = static_cast<unsigned>(call.rows),
      .stride = call.activations.stride,
      .tiled = tiled,
      .group = weights.group,
      .groups = static_cast<unsigned>(
          tiles_of(static_cast<std::uint64_t>(weights.shape.cols), weights.group)),
      .chunk_tiles = chunk_tiles(choice, weights.group, weights.col_tiles),
      .output_type = static_cast<unsigned>(call.out.type),
      .addends = call.out.addends()};
  // The kernel counts its blocks in 32 bits, CUDA in 31.
  constexpr std::uint64_t kMostBlocks = (std::uint64_t{1} << 31) - 1;
  const std::uint64_t blocks =
      weights.row_tiles * tiles_of(static_cast<std::uint64_t>(call.rows), choice.rows);
  if (blocks > kMostBlocks)
    return fail(ErrorKind::too_large, "a product of this many rows takes too many blocks");
  return call.device.launch(
      call.stream, *choice.kernel,
      {.blocks = static_cast<unsigned>(blocks),
       .threads = 32 * kGroupedWarps,
       .shared_bytes = shared_bytes(choice, weights.group, params.chunk_tiles)},
      &params, sizeof params);
}

}  // namespace

const GpuProduct& grouped_product() {
  static const GpuProduct product{"grouped",       any_grouped, no_room,
                                  prepare_grouped, run_grouped, nullptr};
  return product;
}

}  // namespace gpuready::ternary
