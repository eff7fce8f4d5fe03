// bench_ternary_gpu: times.
#include <optional>
#include <tuple>

#include "base/units.h"
#include "kernels/ternary_kernels.h"
#include "ternary/device/gemv_plan.h"
#include "ternary/device/gpu_grouped.h"
#include "ternary_gpu.h"

namespace gpuready::ternary {

void measure_read(Bench& b) {
  const std::uint64_t bytes = 4 * GiB;
  const auto memory = must(DeviceBuffer::make(b.device, bytes));
  const std::uint64_t params[] = {memory.address(), bytes, memory.address()};
  must(b.device.prepare(kTernaryRead));
  for (const unsigned per_unit : {2u, 4u, 8u, 32u}) {
    const double us = b.time_us(1, [&] {
      must(b.device.launch(b.stream, kTernaryRead,
                           {.blocks = b.device.info().units * per_unit, .threads = 256}, params,
                           sizeof params));
    });
    b.read_gbps = std::max(b.read_gbps, static_cast<double>(bytes) / us / 1e3);
  }
  fmt::print("read bandwidth: {:.0f} GB/s\n", b.read_gbps);
}

namespace {

struct Copies {
  DeviceBuffer memory, scales, out;
  GpuActivations activations;
  DeviceBuffer values;
  std::vector<GpuWeightsView> views;
};

Copies make_copies(Bench& b, Shape s, std::int64_t m) {
  GpuWeightsView view;
  view.shape = s;
  view.row_tiles =
      static_cast<std::uint32_t>(tiles_of(static_cast<std::uint64_t>(s.rows), kTileRows));
  view.col_tiles =
      static_cast<std::uint32_t>(tiles_of(static_cast<std::uint64_t>(s.cols), kTileCols));
  const std::uint64_t bytes = std::uint64_t{view.row_tiles} * view.col_tiles * kTileBytes;
  const std::uint64_t wanted = 4 * b.device.info().l2_cache_bytes.value_or(64 * MiB);
  const std::uint64_t count = std::max<std::uint64_t>((wanted + bytes - 1) / bytes, 2);
  const auto n = static_cast<std::uint64_t>(s.rows), rows = static_cast<std::uint64_t>(m);
  Copies copies{must(DeviceBuffer::make(b.device, count * bytes)),
                must(DeviceBuffer::make(b.device, n * 4)),
                must(DeviceBuffer::make(b.device, n * rows * 4)),
                must(b.engine.allocate_activations(m, s.cols)),
                must(DeviceBuffer::make(b.device, rows * static_cast<std::uint64_t>(s.cols) * 4)),
                {}};
  // Any codes of 0, 1 and 2 will do.
  std::vector<std::uint8_t> tiles(bytes);
  for (auto& four : tiles) {
    four = static_cast<std::uint8_t>(b.random());
    four = static_cast<std::uint8_t>(four & ~(four >> 1 & 0x55));
  }
  const std::vector<float> scales(n, 0.01f);
  must(b.device.copy_to_device(b.stream, copies.scales.address(), scales.data(), n * 4));
  for (std::uint64_t i = 0; i < count; ++i) {
    GpuWeightsView copy = view;
    copy.tiles = copies.memory.address() + i * bytes;
    copy.scales = copies.scales.address();
    if (i == 0)
      must(b.device.copy_to_device(b.stream, copy.tiles, tiles.data(), bytes));
    else
      must(b.device.copy_on_device(b.stream, copy.tiles, copies.memory.address(), bytes));
    copies.views.push_back(copy);
  }
  const auto values = random_values(b, rows * static_cast<std::size_t>(s.cols));
  must(
      b.device.copy_to_device(b.stream, copies.values.address(), values.data(), values.size() * 4));
  must(b.engine.quantise(b.stream, copies.values.range(), FloatType::f32, m, copies.activations));
  must(b.device.synchronize(b.stream));
  must(b.engine.prepare(s, m));
  return copies;
}

GpuCall call_of(Bench& b, const Copies& c, const GpuWeightsView& weights, std::int64_t m) {
  return {b.device, b.stream, weights, c.activations.view(), m, {OutputType::f32, c.out.range()},
          {},       {}};
}

struct Times {
  double cold_us, warm_us;
};

Times time_gemv(Bench& b, Copies& c, std::int64_t m, const GemvPlan& plan) {
  must(prepare_gemv(b.device, plan));
  const auto count = static_cast<unsigned>(c.views.size());
  const double cold = b.time_us(count, [&] {
    for (const auto& view : c.views) must(run_gemv(call_of(b, c, view, m), plan));
  });
  const double warm = b.time_us(count, [&] {
    for (unsigned i = 0; i < count; ++i) must(run_gemv(call_of(b, c, c.views[0], m), plan));
  });
  return {cold, warm};
}

// From f32, in two kernels and, where the plan has it, in one; weights cold.
struct WholeTimes {
  double two_us;
  std::optional<double> one_us;
};

WholeTimes time_whole(Bench& b, Copies& c, std::int64_t m, const GemvPlan& plan) {
  const auto count = static_cast<unsigned>(c.views.size());
  WholeTimes times;
  times.two_us = b.time_us(count, [&] {
    for (const auto& view : c.views) {
      must(b.engine.quantise(b.stream, c.values.range(), FloatType::f32, m, c.activations));
      must(run_gemv(call_of(b, c, view, m), plan));
    }
  });
  if (plan.values_kernel == nullptr) return times;
  times.one_us = b.time_us(count, [&] {
    for (const auto& view : c.views) {
      GpuCall call = call_of(b, c, view, m);
      call.values.address = c.values.address();
      must(run_gemv(call, plan));
    }
  });
  return times;
}

// The same products by groups of columns that have a scale each, which every copy has of its own;
// `cold_us` is that with a scale a row.
void time_grouped(Bench& b, Copies& c, std::int64_t m, double cold_us) {
  for (const std::uint32_t group : {256u, 128u, 64u, 32u}) {
    const GpuWeightsView& first = c.views[0];
    const std::uint64_t groups = tiles_of(static_cast<std::uint64_t>(first.shape.cols), group);
    const std::uint64_t bytes = std::uint64_t{first.row_tiles} * groups * kTileRows * 4;
    const auto count = static_cast<unsigned>(c.views.size());
    const auto scales = must(DeviceBuffer::make(b.device, count * bytes));
    const std::vector<float> some(count * bytes / 4, 0.01f);
    must(b.device.copy_to_device(b.stream, scales.address(), some.data(), count * bytes));
    std::vector<GpuWeightsView> views = c.views;
    for (unsigned i = 0; i < count; ++i) {
      views[i].group_scales = scales.address() + i * bytes;
      views[i].group = group;
    }
    must(grouped_product().prepare(b.device, first.shape, m));
    const double us = b.time_us(count, [&] {
      for (const auto& view : views) must(grouped_product().run(call_of(b, c, view, m)));
    });
    const double tiles = static_cast<double>(first.row_tiles) * first.col_tiles * kTileBytes;
    fmt::print(
        "      groups of {:<3} cold {:>7.2f} us, {:.2f} times the speed of row scales ({:.2f} by "
        "bytes)\n",
        group, us, cold_us / us, tiles / (tiles + static_cast<double>(bytes)));
  }
}

}  // namespace

void time_shape(Bench& b, Shape s, std::int64_t m, bool variants) {
  Copies copies = make_copies(b, s, m);
  const double bytes =
      static_cast<double>(copies.memory.bytes()) / static_cast<double>(copies.views.size());
  const auto share = [&](double us) { return bytes / us / 1e3 / b.read_gbps * 100; };
  const auto& info = b.device.info();
  const auto name = [](const GemvPlan& plan) {
    const auto kernel = plan.kernel->name.substr(17);
    return plan.streams ? fmt::format("{}, {} stages", kernel, plan.stages)
                        : fmt::format("{} of {}", kernel, plan.slices);
  };
  const GemvPlan chosen = gemv_plan(info, s, m);
  const Times times = time_gemv(b, copies, m, chosen);
  const WholeTimes whole = time_whole(b, copies, m, chosen);
  fmt::print(
      "{:>6} x {:>5} M {} {:>6.1f} MB {:>3} copies | cold {:>7.2f} us {:>5.1f}% | warm {:>7.2f} us "
      "| from f32 {:>7.2f} us in two, {} in one | {}\n",
      s.rows, s.cols, m, bytes / 1e6, copies.views.size(), times.cold_us, share(times.cold_us),
      times.warm_us, whole.two_us, whole.one_us ? fmt::format("{:.2f} us", *whole.one_us) : "-",
      name(chosen));
  time_grouped(b, copies, m, times.cold_us);
  std::vector<GemvPlan> plans;
  for (const unsigned stages : {1u, 2u, 3u, 4u})
    plans.push_back(gemv_plan(info, s, m, kStream, stages));
  for (const unsigned slices : {1u, 2u, 4u, 8u}) plans.push_back(gemv_plan(info, s, m, slices));
  for (GemvPlan plan : plans)
    for (const bool overlaps : {true, false}) {
      if (!variants || (plan.streams && !overlaps)) continue;
      plan.shape.overlaps = overlaps;
      const Times v = time_gemv(b, copies, m, plan);
      fmt::print("      {:<18} {:<10} cold {:>7.2f} us {:>5.1f}%  warm {:>7.2f} us\n", name(plan),
                 overlaps ? "overlapping" : "one by one", v.cold_us, share(v.cold_us), v.warm_us);
    }
  std::fflush(stdout);
}

void time_quantisers(Bench& b) {
  const auto weights = static_cast<std::int64_t>(512 * MiB);  // 2 GiB of f32
  const Shape shape{weights / 8192, 8192};
  const auto size = must(encoded_bytes(FormatId::i2s_x86, shape));
  const auto values = must(DeviceBuffer::make(b.device, static_cast<std::uint64_t>(weights) * 4));
  const auto out = must(DeviceBuffer::make(b.device, size));
  const auto bad = must(DeviceBuffer::make(b.device, 8));
  for (const auto& [type, bytes, name] : {std::tuple{FloatType::f32, 4, "f32"},
                                          {FloatType::f16, 2, "f16"},
                                          {FloatType::bf16, 2, "bf16"}}) {
    const auto in = static_cast<std::uint64_t>(weights) * static_cast<std::uint64_t>(bytes);
    for (const Rule rule : {Rule::of_format, Rule::absmean}) {
      const bool absmean = rule == Rule::absmean;
      const auto once = [&] {
        must(b.engine.quantise_weights(b.stream, {values.address(), in}, type, shape,
                                       FormatId::i2s_x86, {out.address(), size}, {bad.address(), 8},
                                       rule));
      };
      once();
      const double us = b.time_us(1, once);
      const double gbps = static_cast<double>((absmean ? 2 : 1) * in + size) / us / 1e3;
      fmt::print(
          "{} to i2_s-x86, {}: {:.0f} GB/s of reading and writing, {:.1f}% of the read bandwidth\n",
          name, absmean ? "absmean" : "sign rule", gbps, gbps / b.read_gbps * 100);
    }
  }
}

}  // namespace gpuready::ternary
