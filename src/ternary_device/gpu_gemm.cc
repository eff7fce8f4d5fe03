#include "ternary_device/gpu_gemm.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/ternary_gemm_kernels.h"
#include "kernels/ternary_layout.h"

namespace gpuready::ternary {
namespace {

constexpr std::array kWgmmaTokens = {128u, 64u, 32u};

const Kernel& kernel_of(const GemmPlan& plan) {
  if (plan.kernel == GemmKernel::mma) return kGemmMma;
  return plan.tokens == 128 ? kGemmWgmma128 : plan.tokens == 64 ? kGemmWgmma64 : kGemmWgmma32;
}

constexpr unsigned ceil_div(unsigned a, unsigned b) { return (a + b - 1) / b; }

// What wgmma takes, in cycles of an SM, as measured on an H200. A step is 256 features by so many
// tokens by 128 columns; turning a tile into output, and putting down and picking up a part of a
// split one, go with its size.
struct Costs {
  double step, tile, part;
};
constexpr Costs costs_of(unsigned tokens) {
  return {tokens == 32 ? 320.0 : 8.0 * tokens, 400 + 16.0 * tokens, 400 + 48.0 * tokens};
}
double cycles_of(const GemmPlan& plan, unsigned units) {
  const Costs costs = costs_of(plan.tokens);
  const unsigned tiles = plan.token_tiles * plan.feature_tiles;
  const double whole = plan.k_tiles * costs.step + costs.tile;
  const double whole_tiles = ceil_div(tiles - plan.split_tiles, units) * whole;
  if (plan.split_tiles == 0) return whole_tiles;
  const double share = static_cast<double>(plan.split_tiles) * plan.k_tiles / plan.blocks;
  return whole_tiles + (share + 1) * costs.step + costs.tile + costs.part;
}

void lay_out(GemmPlan& plan) {
  std::uint64_t bytes = 0;
  const auto take = [&](std::uint64_t size) {
    const std::uint64_t offset = bytes;
    bytes += (size + 255) / 256 * 256;
    return offset;
  };
  // Rows are there in whole activation tiles, whatever the product's tiles are.
  const std::uint64_t row_tiles = ceil_div(plan.rows, kActivationTileRows);
  plan.tiles = take(row_tiles * plan.k_tiles * kActivationTileBytes);
  plan.steps = take(row_tiles * kActivationTileRows * sizeof(float));
  plan.sums = take(row_tiles * kActivationTileRows * sizeof(std::int32_t));
  plan.counters = take(plan.split_tiles * sizeof(std::uint32_t));
  plan.partials = take(plan.split_tiles == 0 ? 0
                                             : std::uint64_t{2} * plan.blocks * plan.tokens *
                                                   kWgmmaFeatures * sizeof(float));
  plan.workspace_bytes = bytes;
}

GemmPlan base_plan(GemmKernel kernel, Shape weights, std::int64_t rows, unsigned tokens,
                   unsigned features) {
  GemmPlan plan;
  plan.kernel = kernel;
  plan.tokens = tokens;
  plan.rows = static_cast<unsigned>(rows);
  plan.features = static_cast<unsigned>(weights.rows);
  plan.cols = static_cast<unsigned>(weights.cols);
  plan.k_tiles = ceil_div(plan.cols, kActivationTileCols);
  plan.token_tiles = ceil_div(plan.rows, tokens);
  plan.feature_tiles = ceil_div(plan.features, features);
  plan.blocks = plan.token_tiles * plan.feature_tiles;
  return plan;
}

}  // namespace

std::string_view to_string(GemmKernel kernel) {
  return kernel == GemmKernel::mma ? "int8-mma" : "int8-wgmma";
}

std::optional<GemmKernel> gemm_kernel_of(const DeviceInfo& device) {
  const int capability = device.compute_capability.value_or(0);
  if (device.executor != "cuda" || capability < 80) return std::nullopt;
  return capability == 90 ? GemmKernel::wgmma : GemmKernel::mma;
}

GemmPlan plan_gemm(unsigned units, Shape weights, std::int64_t rows, unsigned tokens, bool split) {
  GemmPlan plan = base_plan(GemmKernel::wgmma, weights, rows, tokens, kWgmmaFeatures);
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
    GemmPlan plan = base_plan(kernel, weights, rows, kMmaTokens, kMmaFeatures);
    lay_out(plan);
    return plan;
  }
  GemmPlan best;
  double least = std::numeric_limits<double>::infinity();
  for (const unsigned tokens : kWgmmaTokens) {
    for (const bool split : {false, true}) {
      const GemmPlan plan = plan_gemm(units, weights, rows, tokens, split);
      if (const double cycles = cycles_of(plan, units); cycles < least) {
        least = cycles;
        best = plan;
      }
    }
  }
  return best;
}

gpuready::Result<void> enqueue_gemm_prepare(Device& device, StreamId stream, const GemmPlan& plan,
                                            const GemmInputs& inputs, DeviceAddress workspace) {
  const GemmPrepareParams params{
      .input = inputs.values,
      .tiles = workspace + plan.tiles,
      .input_steps = inputs.steps,
      .steps = workspace + plan.steps,
      .sums = workspace + plan.sums,
      .not_finite = inputs.not_finite,
      .counters = workspace + plan.counters,
      .rows = plan.rows,
      .cols = plan.cols,
      .k_tiles = plan.k_tiles,
      .input_type = inputs.type,
      .counter_count = plan.split_tiles,
  };
  return device.launch(stream, kGemmPrepare, {.blocks = plan.rows, .threads = kGemmPrepareThreads},
                       &params, sizeof params);
}

gpuready::Result<void> enqueue_gemm_product(Device& device, StreamId stream, const GemmPlan& plan,
                                            const GemmWeights& weights, DeviceAddress workspace,
                                            GemmOutput type, DeviceAddress out) {
  const unsigned steps = plan.split_tiles * plan.k_tiles;
  const GemmParams params{
      .weights = weights.words,
      .activations = workspace + plan.tiles,
      .steps = workspace + plan.steps,
      .sums = workspace + plan.sums,
      .scales = weights.scales,
      .out = out,
      .partials = workspace + plan.partials,
      .counters = workspace + plan.counters,
      .rows = plan.rows,
      .features = plan.features,
      .k_tiles = plan.k_tiles,
      .token_tiles = plan.token_tiles,
      .feature_tiles = plan.feature_tiles,
      .split_tiles = plan.split_tiles,
      .share = steps / plan.blocks,
      .extra = steps % plan.blocks,
      .output_type = type,
      .blocks = plan.blocks,
  };
  const bool mma = plan.kernel == GemmKernel::mma;
  const LaunchShape shape{
      .blocks = plan.blocks,
      .threads = mma ? kMmaThreads : kWgmmaThreads,
      .shared_bytes = mma ? mma_shared_bytes() : wgmma_shared_bytes(plan.tokens),
  };
  return device.launch(stream, kernel_of(plan), shape, &params, sizeof params);
}

gpuready::Result<void> prepare_gemm_kernels(Device& device, GemmKernel kernel) {
  if (auto done = device.prepare(kGemmPrepare); !done) return done;
  if (kernel == GemmKernel::mma) return device.prepare(kGemmMma);
  for (const Kernel* each : {&kGemmWgmma32, &kGemmWgmma64, &kGemmWgmma128}) {
    if (auto done = device.prepare(*each); !done) return done;
  }
  return {};
}

}  // namespace gpuready::ternary
