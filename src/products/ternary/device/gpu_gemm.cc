#include "ternary/device/gpu_gemm.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/ternary_gemm_kernels.h"

namespace gpuready::ternary {
namespace {

constexpr unsigned ceil_div(unsigned a, unsigned b) { return (a + b - 1) / b; }

// wgmma by the size of a tile. Costs are in cycles of an SM, as measured on an H200: of a step of
// 128 columns, and of starting a tile and turning it into output.
struct WgmmaTile {
  const Kernel* multiply;
  const Kernel* finish;
  double step_cycles, tile_cycles;
};
constexpr std::array kTileSizes = {GemmTileSize{256, 128}, GemmTileSize{128, 128},
                                   GemmTileSize{128, 96}, GemmTileSize{256, 64},
                                   GemmTileSize{256, 32}};
constexpr std::array kWgmmaTiles = {
    WgmmaTile{&kGemmWgmma256x128, &kGemmFinish256x128, 1140, 3500},
    WgmmaTile{&kGemmWgmma128x128, &kGemmFinish128x128, 600, 2500},
    WgmmaTile{&kGemmWgmma128x96, &kGemmFinish128x96, 500, 2200},
    WgmmaTile{&kGemmWgmma256x64, &kGemmFinish256x64, 730, 2500},
    WgmmaTile{&kGemmWgmma256x32, &kGemmFinish256x32, 640, 1800},
};
// Of splitting at all, with a kernel more, and for each byte that is put down and picked up.
constexpr double kSplitCycles = 8000, kSplitCyclesPerByte = 6.5e-4;

// The same for scales by group: a step takes longer for each group that ends in it.
struct GroupTile {
  GemmTileSize size;
  std::array<const Kernel*, 3> multiply;  // for 1, 2 or 4 groups a step
  double step_cycles, group_cycles, tile_cycles;

  const Kernel& kernel(unsigned group) const { return *multiply[step_groups(group) / 2]; }
};
constexpr std::array kGroupTiles = {
    GroupTile{{128, 128},
              {&kGemmWgmma128x128x1, &kGemmWgmma128x128x2, &kGemmWgmma128x128x4},
              865,
              470,
              2500},
    GroupTile{
        {256, 32}, {&kGemmWgmma256x32x1, &kGemmWgmma256x32x2, &kGemmWgmma256x32x4}, 745, 285, 1800},
};
const GroupTile& group_tile_of(GemmTileSize size) {
  return *std::ranges::find(kGroupTiles, size, &GroupTile::size);
}

const WgmmaTile& tile_of(const GemmPlan& plan) {
  const auto found = std::ranges::find(kTileSizes, plan.tile);
  return kWgmmaTiles[static_cast<std::size_t>(found - kTileSizes.begin())];
}
constexpr std::uint64_t part_bytes(GemmTileSize tile) {
  return std::uint64_t{4} * tile.features * tile.tokens;
}

double cycles_of(const GemmPlan& plan, unsigned units) {
  const WgmmaTile& tile = tile_of(plan);
  const unsigned tiles = plan.token_tiles * plan.feature_tiles;
  const double cycles = ceil_div(tiles - plan.split_tiles, units) *
                        (plan.k_tiles * tile.step_cycles + tile.tile_cycles);
  if (plan.split_tiles == 0) return cycles;
  const double share = static_cast<double>(plan.split_tiles) * plan.k_tiles / plan.blocks;
  const auto bytes = static_cast<double>((plan.blocks + plan.split_tiles) * part_bytes(plan.tile));
  return cycles + (share + 1) * tile.step_cycles + kSplitCycles + bytes * kSplitCyclesPerByte;
}

void lay_out(GemmPlan& plan) {
  if (plan.split_tiles == 0) return;
  plan.workspace_bytes = std::uint64_t{2} * plan.blocks * part_bytes(plan.tile);
}

GemmPlan base_plan(GemmKernel kernel, Shape weights, std::int64_t rows, GemmTileSize tile) {
  GemmPlan plan;
  plan.kernel = kernel;
  plan.tile = tile;
  plan.rows = static_cast<unsigned>(rows);
  plan.features = static_cast<unsigned>(weights.rows);
  plan.k_tiles = ceil_div(static_cast<unsigned>(weights.cols), kActivationTileCols);
  plan.token_tiles = ceil_div(plan.rows, tile.tokens);
  plan.feature_tiles = ceil_div(plan.features, tile.features);
  plan.blocks = plan.token_tiles * plan.feature_tiles;
  return plan;
}

}  // namespace

std::span<const GemmTileSize> wgmma_tile_sizes() { return kTileSizes; }

std::optional<GemmKernel> gemm_kernel_of(const DeviceInfo& device) {
  const int capability = device.compute_capability.value_or(0);
  if (device.executor != "cuda" || capability < 80) return std::nullopt;
  return best_image(kGemmWgmma256x128.cuda, capability, device.driver_version) ? GemmKernel::wgmma
                                                                               : GemmKernel::mma;
}

GemmPlan plan_gemm(unsigned units, Shape weights, std::int64_t rows, GemmTileSize tile,
                   bool split) {
  GemmPlan plan = base_plan(GemmKernel::wgmma, weights, rows, tile);
  const unsigned tiles = plan.blocks;
  plan.blocks = std::min(tiles, units);
  if (split && tiles % units != 0) {
    // What whole rounds leave over; not so finely that parts are shorter than putting them down.
    constexpr unsigned kLeastShare = 4;
    plan.split_tiles = tiles % units;
    const unsigned blocks = std::min<std::uint64_t>(
        units, std::uint64_t{plan.split_tiles} * plan.k_tiles / kLeastShare);
    if (blocks <= plan.split_tiles || (tiles > units && blocks < units))
      plan.split_tiles = 0;
    else
      plan.blocks = blocks;
  }
  lay_out(plan);
  return plan;
}

GemmPlan plan_gemm(GemmKernel kernel, unsigned units, Shape weights, std::int64_t rows) {
  if (kernel == GemmKernel::mma) {
    GemmPlan plan = base_plan(kernel, weights, rows, {kMmaFeatures, kMmaTokens});
    lay_out(plan);
    return plan;
  }
  GemmPlan best;
  double least = std::numeric_limits<double>::infinity();
  for (const GemmTileSize tile : kTileSizes) {
    for (const bool split : {false, true}) {
      const GemmPlan plan = plan_gemm(units, weights, rows, tile, split);
      if (const double cycles = cycles_of(plan, units); cycles < least) {
        least = cycles;
        best = plan;
      }
    }
  }
  return best;
}

GemmPlan plan_gemm_groups(unsigned units, Shape weights, std::int64_t rows, unsigned group) {
  GemmPlan best;
  double least = std::numeric_limits<double>::infinity();
  for (const GroupTile& tile : kGroupTiles) {
    const GemmPlan plan = plan_gemm(units, weights, rows, tile.size, false);
    const double step = tile.step_cycles + tile.group_cycles * step_groups(group);
    const double cycles = ceil_div(plan.token_tiles * plan.feature_tiles, units) *
                          (plan.k_tiles * step + tile.tile_cycles);
    if (cycles < least) {
      least = cycles;
      best = plan;
    }
  }
  return best;
}

std::uint64_t gemm_tiles_bytes(std::int64_t rows, std::int64_t cols) {
  return tiles_of(static_cast<std::uint64_t>(rows), kActivationTileRows) *
         tiles_of(static_cast<std::uint64_t>(cols), kActivationTileCols) * kActivationTileBytes;
}

namespace {

// Shared memory that no one uses, so that no SM has room for more than its share of few blocks: the
// first SMs that are idle would take them all, while the kernel before still keeps the others busy.
unsigned spreading_bytes(const DeviceInfo& device, unsigned blocks) {
  if (gemm_kernel_of(device) != GemmKernel::wgmma) return 0;  // launches overlap only there
  // Of an SM's 227 KiB; the driver takes 1 KiB of them for each block, its own exchange is smaller.
  constexpr unsigned kUnitBytes = 226 * 1024, kOtherBytes = 2 * 1024;
  const unsigned share = ceil_div(blocks, device.units);
  return share <= 2 ? kUnitBytes / share - kOtherBytes : 0;
}

Result<void> enqueue_tiles(Device& device, StreamId stream, DeviceAddress values, GemmInput type,
                           std::int64_t rows, const GpuActivationsView& view) {
  GemmTilesParams params{
      .values = values,
      .tiles = view.tiles,
      .codes = view.codes,
      .row_facts = view.rows,
      .rows = static_cast<unsigned>(rows),
      .cols = static_cast<unsigned>(view.cols),
      .stride = view.stride,
      .k_tiles = ceil_div(static_cast<unsigned>(view.cols), kActivationTileCols),
      .code_rows = static_cast<unsigned>(kMatrixRows),
      .value_type = type,
      .warps_a_row = 0,
  };
  params.warps_a_row = gemm_tiles_warps(params);
  const unsigned rows_a_block = gemm_tiles_rows(params.warps_a_row);
  const unsigned blocks = ceil_div(params.rows, rows_a_block);
  const LaunchShape shape{.blocks = blocks,
                          .threads = rows_a_block * params.warps_a_row * 32,
                          .shared_bytes = spreading_bytes(device.info(), blocks),
                          .overlaps = true};
  return device.launch(stream, kGemmTiles, shape, &params, sizeof params);
}

}  // namespace

Result<void> enqueue_gemm_quantise(Device& device, StreamId stream, DeviceAddress values,
                                   FloatType type, std::int64_t rows,
                                   const GpuActivationsView& target) {
  constexpr GemmInput kTypes[] = {kGemmF32, kGemmF16, kGemmBf16};  // by FloatType
  return enqueue_tiles(device, stream, values, kTypes[static_cast<int>(type)], rows, target);
}

Result<void> enqueue_gemm_tiles(Device& device, StreamId stream, std::int64_t rows,
                                const GpuActivationsView& activations) {
  return enqueue_tiles(device, stream, activations.codes, kGemmInt8, rows, activations);
}

Result<void> enqueue_gemm_product(Device& device, StreamId stream, const GemmPlan& plan,
                                  const GpuWeightsView& weights,
                                  const GpuActivationsView& activations, DeviceAddress workspace,
                                  const GpuOutput& out) {
  const unsigned steps = plan.split_tiles * plan.k_tiles;
  constexpr GemmOutput kTypes[] = {kGemmOutInt32, kGemmOutF32, kGemmOutBf16,
                                   kGemmOutF16};  // by OutputType
  const GemmParams params{
      .weights = weights.tiles,
      .activations = activations.tiles,
      .out = out.memory.address,
      .scales = weights.scales,
      .group_scales = weights.group_scales,
      .row_facts = activations.rows,
      .partials = workspace,
      .rows = plan.rows,
      .features = plan.features,
      .k_tiles = plan.k_tiles,
      .token_tiles = plan.token_tiles,
      .feature_tiles = plan.feature_tiles,
      .split_tiles = plan.split_tiles,
      .share = steps / plan.blocks,
      .extra = steps % plan.blocks,
      .output_type = kTypes[static_cast<int>(out.type)],
      .blocks = plan.blocks,
      .group = weights.group,
      .groups = weights.group == 0
                    ? 0
                    : ceil_div(static_cast<unsigned>(weights.shape.cols), weights.group),
      .addends = out.addends(),
  };
  if (plan.kernel == GemmKernel::mma) {
    const LaunchShape shape{
        .blocks = plan.blocks, .threads = kMmaThreads, .shared_bytes = mma_shared_bytes()};
    return device.launch(stream, kGemmMma, shape, &params, sizeof params);
  }
  LaunchShape shape{.blocks = plan.blocks,
                    .threads = kWgmmaThreads,
                    .shared_bytes = wgmma_shared_bytes(plan.tile.features, plan.tile.tokens),
                    .overlaps = true};
  if (weights.group != 0) {
    shape.shared_bytes =
        wgmma_shared_bytes(plan.tile.features, plan.tile.tokens, step_groups(weights.group));
    return device.launch(stream, group_tile_of(plan.tile).kernel(weights.group), shape, &params,
                         sizeof params);
  }
  const WgmmaTile& tile = tile_of(plan);
  auto done = device.launch(stream, *tile.multiply, shape, &params, sizeof params);
  if (!done || plan.split_tiles == 0) return done;
  const LaunchShape finish{.blocks = finish_blocks(params, plan.tile.tokens),
                           .threads = kFinishThreads,
                           .shared_bytes = kFinishSharedBytes,
                           .overlaps = true};
  return device.launch(stream, *tile.finish, finish, &params, sizeof params);
}

namespace {

// Asking how many blocks fit also allows a kernel that much shared memory.
Result<void> prepare(Device& device, const Kernel& each, unsigned threads, unsigned shared_bytes) {
  const auto blocks = device.resident_blocks(each, threads, shared_bytes);
  return blocks ? Result<void>() : std::unexpected(blocks.error());
}
Result<void> prepare_tiles(Device& device) {
  return prepare(device, kGemmTiles, kGemmTilesMostWarps * 32, spreading_bytes(device.info(), 1));
}

}  // namespace

Result<void> prepare_gemm_groups(Device& device) {
  auto done = prepare_tiles(device);
  for (const GroupTile& tile : kGroupTiles)
    for (const unsigned group : {128u, 64u, 32u})
      if (done)
        done =
            prepare(device, tile.kernel(group), kWgmmaThreads,
                    wgmma_shared_bytes(tile.size.features, tile.size.tokens, step_groups(group)));
  return done;
}

Result<void> prepare_gemm_kernels(Device& device, GemmKernel kernel) {
  auto done = prepare_tiles(device);
  if (done && kernel == GemmKernel::mma)
    done = prepare(device, kGemmMma, kMmaThreads, mma_shared_bytes());
  for (std::size_t i = 0; done && kernel == GemmKernel::wgmma && i < kWgmmaTiles.size(); ++i) {
    const GemmTileSize size = kTileSizes[i];
    done = prepare(device, *kWgmmaTiles[i].multiply, kWgmmaThreads,
                   wgmma_shared_bytes(size.features, size.tokens));
    if (done) done = device.prepare(*kWgmmaTiles[i].finish);
  }
  return done;
}

namespace {

template <GemmKernel kKernel>
constexpr GpuProduct product(std::string_view name) {
  return {
      .name = name,
      .serves =
          [](const DeviceInfo& device, Shape, std::int64_t rows) {
            return rows >= kMatrixRows && gemm_kernel_of(device) == kKernel;
          },
      .workspace_bytes =
          [](const DeviceInfo& device, Shape weights, std::int64_t rows) {
            return plan_gemm(kKernel, device.units, weights, rows).workspace_bytes;
          },
      .prepare = [](Device& device, Shape,
                    std::int64_t) { return prepare_gemm_kernels(device, kKernel); },
      .run =
          [](const GpuCall& call) {
            const GemmPlan plan =
                plan_gemm(kKernel, call.device.info().units, call.weights.shape, call.rows);
            return enqueue_gemm_product(call.device, call.stream, plan, call.weights,
                                        call.activations, call.workspace.address, call.out);
          },
  };
}
constexpr std::array kProducts = {product<GemmKernel::wgmma>("int8-wgmma"),
                                  product<GemmKernel::mma>("int8-mma")};

}  // namespace

std::span<const GpuProduct, 2> gemm_products() { return kProducts; }

}  // namespace gpuready::ternary
