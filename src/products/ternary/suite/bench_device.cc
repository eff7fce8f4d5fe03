// Times of only a GPU's part of products, from and to its memory.
#include <algorithm>

#include "base/clock.h"
#include "base/statistics.h"
#include "base/units.h"
#include "kernels/ternary_kernels.h"
#include "ternary/device/gpu_engine.h"
#include "ternary/suite/bench_parts.h"

namespace gpuready::ternary {
namespace {

using Record = std::function<Result<void>()>;

// Microseconds of one of the `calls` that `record` gives to the stream.
Result<Samples> time_calls(Device& device, StreamId stream, unsigned calls, double budget_s,
                           const Record& record) {
  auto timer = TRY(StreamTimer::make(device, stream));
  TRY(record());
  TRY(device.synchronize(stream));
  std::optional<GraphId> graph;
  if (device.begin_capture(stream)) {
    auto recorded = record();
    auto captured = device.end_capture(stream);
    if (!recorded) return std::unexpected(recorded.error());
    if (captured) graph = *captured;
  }
  const auto once = [&] { return graph ? device.launch_graph(stream, *graph) : record(); };
  const auto sample = [&](int repeats) -> Result<double> {
    TRY(timer.start());
    for (int i = 0; i < repeats; ++i) TRY(once());
    auto ms = timer.stop_ms();
    if (!ms) return std::unexpected(ms.error());
    return *ms * 1e3 / (repeats * static_cast<double>(calls));
  };
  std::vector<double> us;
  const auto start = Clock::now();
  auto first = TRY(sample(1));
  // A sample of at least 2 ms: events tell half a microsecond.
  const double whole_us = std::max(first * calls, 0.5);
  const int repeats = std::clamp(static_cast<int>(2000 / whole_us), 1, 200);
  while (us.size() < 5 || (elapsed_ms(start) < budget_s * 1e3 && us.size() < 100)) {
    auto one = TRY(sample(repeats));
    us.push_back(one);
  }
  if (graph) (void)device.destroy_graph(*graph);
  return Samples{std::ranges::min(us), median(us), us.size()};
}

std::optional<double> read_rate(Device& device, StreamId stream, double budget_s) {
  const auto memory = DeviceBuffer::make(device, GiB);
  if (!memory || device.info().executor != "cuda" || !device.prepare(kTernaryRead))
    return std::nullopt;
  const std::uint64_t params[] = {memory->address(), GiB, memory->address()};
  std::optional<double> best;
  for (const unsigned per_unit : {4u, 8u, 32u}) {
    const LaunchShape shape{.blocks = device.info().units * per_unit, .threads = 256};
    const auto time = time_calls(device, stream, 1, budget_s / 3, [&] {
      return device.launch(stream, kTernaryRead, shape, params, sizeof params);
    });
    if (time) best = std::max(best.value_or(0), static_cast<double>(GiB) / time->least_us * 1e6);
  }
  return best;
}

// Only the device's part, with weights that its cache does not hold.
Result<Samples> time_on_device(Device& device, GpuEngine& engine, StreamId stream,
                               const BenchShape& shape, const GpuWeights& weights,
                               std::span<const std::int8_t> codes, Timed timed, double budget_s) {
  const auto told = [&](const Error& error) {
    return std::unexpected(device_error(device, error));
  };
  const GpuProduct& product = product_for(device.info(), weights.shape(), shape.m);
  const GpuWeightsView& view = weights.view();
  const std::uint64_t bytes = std::uint64_t{view.row_tiles} * view.col_tiles * kTileBytes;
  const std::uint64_t wanted = 4 * device.info().l2_cache_bytes.value_or(32 * MiB);
  const std::uint64_t copies = std::clamp<std::uint64_t>((wanted + bytes - 1) / bytes, 2, 512);
  const auto memory = DeviceBuffer::make(device, copies * bytes);
  const std::uint64_t out_bytes = 4 * static_cast<std::uint64_t>(shape.m * shape.n);
  const auto out = DeviceBuffer::make(device, out_bytes);
  const std::uint64_t room = product.workspace_bytes(device.info(), weights.shape(), shape.m);
  const auto workspace = DeviceBuffer::make(device, std::max<std::uint64_t>(room, 256));
  if (!memory) return told(memory.error());
  if (!out) return told(out.error());
  if (!workspace) return told(workspace.error());
  auto activations = TRY(engine.allocate_activations(shape.m, shape.k));
  // Their codes are the numbers themselves, or nearly: times do not depend on them.
  const std::vector<float> numbers(codes.begin(), codes.end());
  const auto values = DeviceBuffer::make(device, numbers.size() * sizeof(float));
  if (!values) return told(values.error());
  if (auto done = device.copy_to_device(stream, values->address(), numbers.data(), values->bytes());
      !done)
    return told(done.error());
  const auto quantise = [&] {
    return engine.quantise(stream, values->range(), FloatType::f32, shape.m, activations);
  };
  TRY(quantise());
  const bool fuses =
      product.fuses != nullptr && product.fuses(device.info(), weights.shape(), shape.m);
  std::vector<GpuWeightsView> views(copies, view);
  for (std::uint64_t i = 0; i < copies; ++i) {
    views[i].tiles = memory->address() + i * bytes;
    if (auto done = device.copy_on_device(stream, views[i].tiles, view.tiles, bytes); !done)
      return told(done.error());
  }
  if (auto done = product.prepare(device, weights.shape(), shape.m); !done)
    return told(done.error());
  const auto time = time_calls(device, stream, static_cast<unsigned>(copies), budget_s, [&] {
    for (const GpuWeightsView& copy : views) {
      if (timed == Timed::device_values && !fuses)
        if (auto done = quantise(); !done)
          return Result<void>(fail(ErrorKind::device, done.error().message));
      auto done = product.run(
          {device,
           stream,
           copy,
           activations.view(),
           shape.m,
           {OutputType::f32, {out->address(), out_bytes}},
           {workspace->address(), room},
           {timed == Timed::device_values && fuses ? values->address() : 0, FloatType::f32}});
      if (!done) return done;
    }
    return Result<void>();
  });
  if (!time) return told(time.error());
  return *time;
}

}  // namespace

std::vector<BenchRow> bench_device(Device& device, const BenchOptions& options) {
  std::vector<BenchRow> rows;
  const auto shapes =
      options.shapes.empty() ? default_bench_shapes() : std::span<const BenchShape>(options.shapes);
  auto engine = GpuEngine::create(device);
  const auto stream = DeviceStream::make(device);
  const std::string subject =
      device.info().executor + ":" + device.info().uuid.value_or(std::string());
  std::optional<double> reading;
  if (stream) reading = read_rate(device, stream->id(), options.budget_s);
  for (const BenchShape& shape : shapes) {
    BenchRow row;
    row.subject = subject;
    row.device = device.info().name;
    row.form = to_string(Form::two_bit);
    row.shape = shape;
    row.timed = Timed::device;
    row.read_bytes_per_s = reading;
    if (options.stopped()) {
      row.reason = kInterrupted;
      rows.push_back(std::move(row));
      continue;
    }
    const auto refused = [&](const std::string& reason) {
      row.status = CheckStatus::failed;
      row.reason = reason;
      rows.push_back(row);
    };
    if (!engine || !stream) {
      refused(!engine ? engine.error().message : stream.error().message);
      continue;
    }
    options.progress("M " + std::to_string(shape.m) + ", N " + std::to_string(shape.n) + ", K " +
                     std::to_string(shape.k));
    const Operands made = operands(shape);
    const auto weights = engine->load(made.codes);
    if (!weights) {
      refused(weights.error().message);
      continue;
    }
    row.kernel = engine->kernel_for(weights->shape(), shape.m);
    row.weight_bytes =
        std::uint64_t{weights->view().row_tiles} * weights->view().col_tiles * kTileBytes;
    for (const Timed timed : {Timed::device, Timed::device_values}) {
      row.timed = timed;
      const auto samples = time_on_device(device, *engine, stream->id(), shape, *weights, made.y,
                                          timed, options.budget_s);
      if (!samples) {
        refused(samples.error().message);
        continue;
      }
      take(row, *samples);
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace gpuready::ternary
