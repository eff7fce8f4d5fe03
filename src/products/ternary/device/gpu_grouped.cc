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
  unsigned rows;    // of activations, at once
  unsigned tiles;   // those in shared memory at once are a multiple of this
  bool adds_apart;  // by a warp of its own
};
const Choice kOne{&kTernaryGrouped1, 1, 2 * kGroupedWarps, true},
    kFour{&kTernaryGrouped4, 4, 2 * kGroupedWarps, true},
    kSixteen{&kTernaryGrouped16, 16, 2, false};

const Choice& choice_for(const DeviceInfo& device, std::int64_t rows) {
  if (rows == 1) return kOne;
  return rows > 4 && device.compute_capability.value_or(0) >= 80 ? kSixteen : kFour;
}

// Codes and their sums of each row; the groups' terms of each row, of all tiles or of two steps of
// the warps; and scales, where they are not held in registers.
unsigned shared_bytes(const Choice& choice, unsigned group, unsigned tiles) {
  const unsigned cols = tiles * kTileCols, scales = cols / group * kTileRows * 4;
  if (choice.adds_apart) {
    const unsigned terms =
        2 * (2 * kGroupedWarps * kTileCols / group) * grouped_term_words(choice.rows) * 4;
    return choice.rows * (cols + cols / group * 4 + terms);
  }
  return choice.rows * (cols + kGemvMatrixPaddingBytes + cols / 32 * 4 + scales) + scales;
}

// Every GPU gives 48 KiB. Kernels that hold scales there take no more than 32 tiles: more spare
// little.
unsigned chunk_tiles(const Choice& choice, unsigned group, unsigned col_tiles) {
  const unsigned all = static_cast<unsigned>(tiles_of(col_tiles, choice.tiles)) * choice.tiles;
  unsigned tiles = choice.adds_apart ? all : std::min(32u, all);
  while (tiles > choice.tiles && shared_bytes(choice, group, tiles) > 47 * KiB)
    tiles -= choice.tiles;
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
  const unsigned chunk = chunk_tiles(choice, weights.group, weights.col_tiles);
  // A block that has all columns at once goes on to more row tiles.
  const unsigned row_blocks =
      choice.adds_apart && chunk >= weights.col_tiles
          ? std::min(weights.row_tiles,
                     static_cast<unsigned>(kGroupedBlocks * call.device.info().units))
          : weights.row_tiles;
  TernaryGroupedParams params{
      .tiles_address = weights.tiles,
      .scales_address = weights.scales,
      .group_scales_address = weights.group_scales,
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
      .chunk_tiles = chunk,
      .row_blocks = row_blocks,
      .output_type = static_cast<unsigned>(call.out.type),
      .addends = call.out.addends()};
  // The kernel counts its blocks in 32 bits, CUDA in 31.
  constexpr std::uint64_t kMostBlocks = (std::uint64_t{1} << 31) - 1;
  const std::uint64_t blocks =
      row_blocks * tiles_of(static_cast<std::uint64_t>(call.rows), choice.rows);
  if (blocks > kMostBlocks)
    return fail(ErrorKind::too_large, "a product of this many rows takes too many blocks");
  return call.device.launch(
      call.stream, *choice.kernel,
      {.blocks = static_cast<unsigned>(blocks),
       .threads = 32 * (kGroupedWarps + (choice.adds_apart ? 1 : 0)),
       .shared_bytes = shared_bytes(choice, weights.group, params.chunk_tiles),
       .overlaps = choice.adds_apart},
      &params, sizeof params);
}

}  // namespace

const GpuProduct& grouped_product() {
  static const GpuProduct product{"grouped",       any_grouped, no_room,
                                  prepare_grouped, run_grouped, nullptr};
  return product;
}

}  // namespace gpuready::ternary
