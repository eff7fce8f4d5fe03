// Ternary matrix products on a GPU: exactness against the CPU, and times.
//   bench_ternary_gemm DEVICE check            bit for bit: tails, greatest values, K up to 32768
//   bench_ternary_gemm DEVICE time [SHAPE]...  SHAPE = MxNxK, for example 512x13824x2560
//   bench_ternary_gemm DEVICE plans [SHAPE]... every tile size, whole and split
//   bench_ternary_gemm DEVICE groups [SHAPE]... scales by group, as times of those with one a row
// Lines of `time`: shape, kernel, features x tokens of a tile, split tiles, blocks, then
// microseconds of the product, of the quantisation of bf16, and of both. benchmarks/ternary_gemm.py
// holds cuBLAS against it.
#include <cstdio>
#include <functional>
#include <random>
#include <span>
#include <string>

#include "device/open_device.h"
#include "ternary/device/gpu_grouped.h"
#include "ternary_gemm_common.h"

namespace {

using namespace gpuready;
using namespace gpuready::ternary;

Problem parse(const char* text) {
  Problem p;
  if (std::sscanf(text, "%ldx%ldx%ld", &p.m, &p.n, &p.k) != 3) {
    fmt::print(stderr, "not MxNxK: {}\n", text);
    std::exit(2);
  }
  return p;
}

struct Workload {
  Buffers buffers;
  Problem p;
  GpuWeightsView weights;
  GpuActivationsView rows;
  DeviceAddress values = 0, out = 0, workspace = 0;

  Workload(Device& device, Problem problem) : buffers(device), p(problem) {
    std::mt19937_64 random(7);
    const std::uint64_t words = tiles_of(static_cast<std::uint64_t>(p.n), kTileRows) *
                                tiles_of(static_cast<std::uint64_t>(p.k), kTileCols) * kTileBytes /
                                4;
    std::vector<std::uint32_t> codes(words);
    for (auto& word : codes) {
      const auto high = static_cast<std::uint32_t>(random()),
                 low = static_cast<std::uint32_t>(random());
      const std::uint32_t h = high & 0x55555555;
      word = h << 1 | (low & 0x55555555 & ~h);
    }
    weights.tiles = buffers.put(codes);
    weights.scales = buffers.put(std::vector<float>(static_cast<std::size_t>(p.n), 0.02f));
    weights.shape = {p.n, p.k};
    rows = make_rows(buffers, p.m, p.k);
    std::vector<std::uint16_t> block(1 << 20), all(static_cast<std::size_t>(p.m * p.k));
    std::normal_distribution<float> normal;
    for (auto& v : block)
      v = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(normal(random)) >> 16);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = block[i * 7919 % block.size()];
    values = buffers.put(all);
    out = buffers.make(static_cast<std::uint64_t>(p.m * p.n) * 2);
  }
};

// Microseconds of one, by graph replay; the median of 7 batches that take some ms each.
double time_us(Device& device, StreamId stream, const std::function<void()>& once) {
  constexpr unsigned kInGraph = 20;
  must(device.begin_capture(stream));
  for (unsigned i = 0; i < kInGraph; ++i) once();
  const GraphId graph = must(device.end_capture(stream));
  StreamTimer timer = must(StreamTimer::make(device, stream));
  const auto batch = [&](unsigned count) {
    must(timer.start());
    for (unsigned i = 0; i < count; ++i) must(device.launch_graph(stream, graph));
    return must(timer.stop_ms()) * 1e3 / (count * kInGraph);
  };
  const double guess = batch(1);
  const auto count = static_cast<unsigned>(std::clamp(8e3 / guess / kInGraph, 1.0, 40.0));
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) times.push_back(batch(count));
  must(device.destroy_graph(graph));
  std::nth_element(times.begin(), times.begin() + 3, times.end());
  return times[3];
}

void time_plan(Device& device, StreamId stream, Workload& work, const GemmPlan& plan) {
  const auto quantise = [&] {
    must(enqueue_gemm_quantise(device, stream, work.values, FloatType::bf16, work.p.m, work.rows));
  };
  const auto multiply = [&] {
    must(enqueue_gemm_product(device, stream, plan, work.weights, work.rows, work.workspace,
                              {OutputType::bf16, {work.out, 0}}));
  };
  const double quantise_us = time_us(device, stream, quantise);
  const double both_us = time_us(device, stream, [&] {
    quantise();
    multiply();
  });
  const double product_us = time_us(device, stream, multiply);
  fmt::print("{}x{}x{} {} {}x{} {} {} {:.2f} {:.2f} {:.2f} {:.0f}\n", work.p.m, work.p.n, work.p.k,
             to_string(plan.kernel), plan.tile.features, plan.tile.tokens, plan.split_tiles,
             plan.blocks, product_us, quantise_us, both_us,
             2e-6 * static_cast<double>(work.p.m) * static_cast<double>(work.p.n) *
                 static_cast<double>(work.p.k) / both_us);
  std::fflush(stdout);
}

// The product with scales by group: what is taken, each tile of wgmma, and the kernel without it.
void time_groups(Device& device, StreamId stream, Workload& work) {
  const unsigned units = device.info().units;
  const Shape shape{work.p.n, work.p.k};
  const GpuOutput out{OutputType::bf16, {work.out, 0}};
  must(enqueue_gemm_quantise(device, stream, work.values, FloatType::bf16, work.p.m, work.rows));
  const GemmPlan plain = plan_gemm(GemmKernel::wgmma, units, shape, work.p.m);
  work.workspace = work.buffers.make(plain.workspace_bytes);
  const double row_us = time_us(device, stream, [&] {
    must(enqueue_gemm_product(device, stream, plain, work.weights, work.rows, work.workspace, out));
  });
  fmt::print("{}x{}x{} a scale a row {:.2f} us\n", work.p.m, work.p.n, work.p.k, row_us);
  GpuWeightsView weights = work.weights;
  weights.row_tiles =
      static_cast<std::uint32_t>(tiles_of(static_cast<std::uint64_t>(shape.rows), kTileRows));
  weights.col_tiles =
      static_cast<std::uint32_t>(tiles_of(static_cast<std::uint64_t>(shape.cols), kTileCols));
  for (const std::uint32_t group : {256u, 128u, 64u, 32u}) {
    const std::uint64_t groups = tiles_of(static_cast<std::uint64_t>(shape.cols), group);
    weights.group_scales =
        work.buffers.put(std::vector<float>(weights.row_tiles * groups * kTileRows, 0.02f));
    weights.group = group;
    const auto call = [&](bool tiny) {
      weights.tiny_scales = tiny;
      must(grouped_product().run({device, stream, weights, work.rows, work.p.m, out, {}, {}}));
    };
    std::string line = fmt::format("  groups of {:<3}", group);
    const auto add = [&](std::string_view name, double us) {
      line += fmt::format(" | {} {:.2f} us, {:.2f}", name, us, row_us / us);
    };
    add("taken", time_us(device, stream, [&] { call(false); }));
    for (const GemmTileSize tile : {GemmTileSize{128, 128}, GemmTileSize{256, 32}}) {
      const GemmPlan plan = plan_gemm(units, shape, work.p.m, tile, false);
      add(fmt::format("{}x{}", tile.features, tile.tokens), time_us(device, stream, [&] {
            must(enqueue_gemm_product(device, stream, plan, weights, work.rows, 0, out));
          }));
    }
    add("without wgmma", time_us(device, stream, [&] { call(true); }));
    fmt::print("{}\n", line);
  }
  std::fflush(stdout);
}

int time_shapes(Device& device, std::span<char*> shapes, const std::string& what) {
  for (const GemmKernel kernel : {GemmKernel::mma, GemmKernel::wgmma})
    if (kernel <= gemm_kernel_of(device.info())) must(prepare_gemm_kernels(device, kernel));
  if (what == "groups") must(grouped_product().prepare(device, {}, kMatrixRows));
  const StreamId stream = must(device.create_stream());
  for (const char* text : shapes) {
    const Problem p = parse(text);
    Workload work(device, p);
    if (what == "groups") {
      time_groups(device, stream, work);
      continue;
    }
    std::vector<GemmPlan> plans = plans_of(device, p, false);
    if (what != "plans") {
      const auto kernel = gemm_kernel_of(device.info()).value_or(GemmKernel::mma);
      plans = {plan_gemm(kernel, device.info().units, {p.n, p.k}, p.m)};
    }
    std::uint64_t bytes = 0;
    for (const GemmPlan& plan : plans) bytes = std::max(bytes, plan.workspace_bytes);
    work.workspace = work.buffers.make(bytes);
    for (const GemmPlan& plan : plans) time_plan(device, stream, work, plan);
  }
  must(device.destroy_stream(stream));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[2] : "";
  if (what != "check" && what != "time" && what != "plans" && what != "groups") {
    fmt::print(stderr, "usage: {} DEVICE check|time|plans|groups [MxNxK]...\n", argv[0]);
    return 2;
  }
  const auto device = must(open_device(must(parse_device_choice(argv[1])), {}));
  if (what == "check") return check_gemm(*device);
  return time_shapes(*device, std::span(argv + 3, argv + argc), what);
}
