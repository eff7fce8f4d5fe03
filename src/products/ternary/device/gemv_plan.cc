#include "ternary/device/gemv_plan.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "base/units.h"
#include "ternary/device/gpu_types.h"

namespace gpuready::ternary {
namespace {

constexpr unsigned kGemvThreads = 32 * kGemvWarps;
constexpr std::int64_t kAnyRows = std::numeric_limits<std::int64_t>::max();
// Enough warps on each SM for their loads to fill the memory's pipeline.
constexpr unsigned kWarpsPerUnit = 16;
// What a block brings near beyond its first pieces: the best of 0 to 128 KiB on an H200.
constexpr unsigned kPrefetchBytes = 32 * KiB;
constexpr std::uint64_t kMostStreamTiles = 256;  // of a block: 16 KiB of sums for one row
// Quantising in every block costs less than a kernel for it: measured on an H200.
constexpr std::int64_t kMostFusedRows = 4, kMostFusedValues = 16384;

struct Choice {
  const Kernel* kernel;
  const Kernel* stream;    // for many row tiles, from sm_80 on
  const Kernel* values;    // the same, from values
  unsigned rows;           // at once
  std::int64_t most_rows;  // of a product for which it is taken
  int capability;
  unsigned padding_bytes;  // behind each row in shared memory
  // At the most; every GPU gives 48 KiB, those from sm_80 on 99, kernels' own variables included.
  unsigned shared_bytes;
};
// The first that serves.
const Choice kChoices[] = {
    {&kTernaryGemv1, &kTernaryStream1, &kTernaryStreamValues1, 1, 1, 50, 0, 47 * KiB},
    {&kTernaryGemv8, &kTernaryStream8, &kTernaryStreamValues8, 8, 8, 80, kGemvMatrixPaddingBytes,
     96 * KiB},
    {&kTernaryGemv16, &kTernaryStream16, nullptr, 16, kAnyRows, 80, kGemvMatrixPaddingBytes,
     96 * KiB},
    {&kTernaryGemv2, nullptr, nullptr, 2, 2, 50, 0, 47 * KiB},
    {&kTernaryGemv4, nullptr, nullptr, 4, kAnyRows, 50, 0, 47 * KiB},
};

unsigned partial_bytes(unsigned rows) { return rows * kGemvWarps * kTileRows * 4; }

GemvPlan vulkan_plan(const DeviceInfo& device, Shape weights, std::int64_t rows) {
  GemvPlan plan;
  plan.kernel = &kTernaryGemv1;
  const std::uint64_t units = tiles_of(static_cast<std::uint64_t>(weights.rows), kTileRows) *
                              static_cast<std::uint64_t>(rows);
  const unsigned most = device.max_blocks.value_or(65535);
  plan.shape = {.blocks = static_cast<unsigned>(std::min<std::uint64_t>(units, most)),
                .threads = kGemvVulkanThreads};
  return plan;
}

// Shared memory of a block at the most, from the CUDA C++ programming guide's table of compute
// capabilities, less a kilobyte for kernels' own variables.
std::uint64_t shared_limit(int capability) {
  if (capability == 80 || capability == 87) return 162 * KiB;
  if (capability >= 90 && capability < 120) return 226 * KiB;
  return 98 * KiB;
}

struct Tiles {
  unsigned rows, cols;
};

unsigned blocks_of(unsigned groups, const GemvPlan& plan, std::int64_t rows) {
  const std::uint64_t times = (static_cast<std::uint64_t>(rows) + plan.rows - 1) / plan.rows;
  return static_cast<unsigned>(
      std::min<std::uint64_t>(groups * times, std::numeric_limits<std::int32_t>::max()));
}

// Pieces that a warp has on the way, by what a block reads. One leaves room for the next kernel's
// block beside this one, which hides what is between them; with more, a long stretch keeps the
// memory busier.
unsigned stages_for(std::uint64_t block_bytes) {
  return block_bytes >= 384 * KiB ? 3 : block_bytes >= 192 * KiB ? 2 : 1;
}

// One block an SM, or as many more as it takes for a block's sums to fit.
std::optional<GemvPlan> stream_plan(const DeviceInfo& device, const Choice& choice, Tiles tiles,
                                    std::int64_t rows, unsigned stages) {
  const int capability = device.compute_capability.value_or(0);
  if (!choice.stream || capability < 80) return std::nullopt;
  const std::uint64_t limit = shared_limit(capability);
  const std::uint64_t fixed =
      choice.rows * (std::uint64_t{tiles.cols} * kTileCols + choice.padding_bytes);
  const std::uint64_t of_stage =
      capability >= 90 ? kStreamWarps * kStreamPieceTiles * kTileBytes : 0;
  const std::uint64_t of_tile = choice.rows * kTileRows * 4;
  if (fixed + of_stage + of_tile > limit) return std::nullopt;
  const std::uint64_t most =
      std::min<std::uint64_t>((limit - fixed - of_stage) / of_tile, kMostStreamTiles);
  GemvPlan plan;
  plan.streams = true;
  plan.kernel = choice.stream;
  plan.rows = choice.rows;
  const std::uint64_t of_unit = (tiles.rows + device.units - 1) / device.units;
  plan.groups = static_cast<unsigned>(
      std::min<std::uint64_t>(tiles.rows, device.units * ((of_unit + most - 1) / most)));
  plan.slice_tiles = plan.chunk_tiles = tiles.cols;
  const std::uint64_t of_block = (tiles.rows + plan.groups - 1) / plan.groups;
  std::uint64_t bytes = fixed + of_block * of_tile;
  if (of_stage != 0) {
    if (stages == 0) stages = rows == 1 ? stages_for(of_block * tiles.cols * kTileBytes) : 1;
    plan.stages = static_cast<unsigned>(
        std::min<std::uint64_t>({stages, kStreamMostStages, (limit - bytes) / of_stage}));
    bytes += plan.stages * of_stage;
  }
  if (rows == 1 || (rows <= kMostFusedRows && rows * tiles.cols * kTileCols <= kMostFusedValues))
    plan.values_kernel = choice.values;
  plan.shape = {.blocks = blocks_of(plan.groups, plan, rows),
                .threads = 32 * kStreamWarps,
                .shared_bytes = static_cast<unsigned>(bytes),
                .overlaps = true};
  return plan;
}

GemvPlan sliced_plan(const DeviceInfo& device, const Choice& choice, Tiles tiles, std::int64_t rows,
                     unsigned slices) {
  GemvPlan plan;
  plan.kernel = choice.kernel;
  plan.rows = choice.rows;
  plan.slices = slices;
  if (slices == 0) {
    const std::uint64_t wanted = std::uint64_t{device.units} * kWarpsPerUnit;
    for (plan.slices = 1; plan.slices < kGemvWarps; plan.slices *= 2)
      if (std::uint64_t{tiles.rows} * plan.slices >= wanted || plan.slices * 2 > tiles.cols) break;
  }
  plan.chunk_tiles = 0;
  for (plan.slices *= 2; plan.slices > 1 && plan.chunk_tiles == 0;) {
    plan.slices /= 2;
    plan.slice_tiles = (tiles.cols + plan.slices - 1) / plan.slices;
    const unsigned room =
        choice.shared_bytes - partial_bytes(plan.rows) - plan.rows * choice.padding_bytes;
    const unsigned most = room / (plan.rows * plan.slices * kTileCols);
    plan.chunk_tiles = plan.slice_tiles <= most ? plan.slice_tiles : most / kGemvRing * kGemvRing;
  }
  const unsigned tiles_per_block = kGemvWarps / plan.slices;
  plan.groups = (tiles.rows + tiles_per_block - 1) / tiles_per_block;
  plan.shape = {.blocks = blocks_of(plan.groups, plan, rows),
                .threads = kGemvThreads,
                .shared_bytes = plan.rows * (plan.slices * plan.chunk_tiles * kTileCols +
                                             choice.padding_bytes) +
                                partial_bytes(plan.rows),
                .overlaps = true};
  return plan;
}

}  // namespace

GemvPlan gemv_plan(const DeviceInfo& device, Shape weights, std::int64_t rows, unsigned slices,
                   unsigned stages) {
  if (device.executor == "vulkan") return vulkan_plan(device, weights, rows);
  const Choice& choice = *std::find_if(std::begin(kChoices), std::end(kChoices) - 1, [&](auto& c) {
    return rows <= c.most_rows && c.capability <= device.compute_capability.value_or(0);
  });
  const Tiles tiles{
      static_cast<unsigned>(tiles_of(static_cast<std::uint64_t>(weights.rows), kTileRows)),
      static_cast<unsigned>(tiles_of(static_cast<std::uint64_t>(weights.cols), kTileCols))};
  if (slices == 0 || slices == kStream)
    if (const auto plan = stream_plan(device, choice, tiles, rows, stages)) return *plan;
  return sliced_plan(device, choice, tiles, rows, slices > kGemvWarps ? 0 : slices);
}

Result<void> prepare_gemv(Device& device, const GemvPlan& plan) {
  for (const Kernel* kernel : {plan.kernel, plan.values_kernel}) {
    if (kernel == nullptr) continue;
    TRY(device.prepare(*kernel));
    // Which also allows it that much shared memory.
    TRY(device.resident_blocks(*kernel, plan.shape.threads, plan.shape.shared_bytes));
  }
  return {};
}

namespace {

Result<void> run_stream(const GpuCall& call, const GemvPlan& plan) {
  const GpuWeightsView& weights = call.weights;
  const unsigned pieces = static_cast<unsigned>(tiles_of(weights.col_tiles, kStreamPieceTiles));
  const TernaryStreamParams params{.tiles_address = weights.tiles,
                                   .scales_address = weights.scales,
                                   .out_address = call.out.memory.address,
                                   .rows_address = call.activations.rows,
                                   .codes_address = call.activations.codes,
                                   .values_address = call.values.address,
                                   .cols = static_cast<unsigned>(weights.shape.cols),
                                   .value_type = static_cast<unsigned>(call.values.type),
                                   .weight_rows = static_cast<unsigned>(weights.shape.rows),
                                   .col_tiles = weights.col_tiles,
                                   .activation_rows = static_cast<unsigned>(call.rows),
                                   .stride = call.activations.stride,
                                   .groups = plan.groups,
                                   .output_type = static_cast<unsigned>(call.out.type),
                                   .block_tiles = weights.row_tiles / plan.groups,
                                   .larger_blocks = weights.row_tiles % plan.groups,
                                   .pieces = pieces,
                                   .piece_tiles = weights.col_tiles / pieces,
                                   .rows_per_turn = kStreamWarps / pieces,
                                   .pieces_per_turn = kStreamWarps % pieces,
                                   .stages = plan.stages,
                                   .prefetch_bytes = kPrefetchBytes,
                                   .addends = call.out.addends()};
  const Kernel& kernel = call.values.address != 0 ? *plan.values_kernel : *plan.kernel;
  return call.device.launch(call.stream, kernel, plan.shape, &params, sizeof params);
}

}  // namespace

Result<void> run_gemv(const GpuCall& call, const GemvPlan& plan) {
  if (plan.streams) return run_stream(call, plan);
  const TernaryGemvParams params{
      .tiles_address = call.weights.tiles,
      .scales_address = call.weights.scales,
      .codes_address = call.activations.codes,
      .rows_address = call.activations.rows,
      .out_address = call.out.memory.address,
      .weight_rows = static_cast<unsigned>(call.weights.shape.rows),
      .row_tiles = call.weights.row_tiles,
      .col_tiles = call.weights.col_tiles,
      .activation_rows = static_cast<unsigned>(call.rows),
      .stride = call.activations.stride,
      .groups = plan.groups,
      .slices_log2 = static_cast<unsigned>(std::countr_zero(plan.slices)),
      .slice_tiles = plan.slice_tiles,
      .chunk_tiles = plan.chunk_tiles,
      .output_type = static_cast<unsigned>(call.out.type),
      .addends = call.out.addends()};
  return call.device.launch(call.stream, *plan.kernel, plan.shape, &params, sizeof params);
}

}  // namespace gpuready::ternary
