#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/units.h"
#include "device/cuda_device.h"
#include "device/vulkan_device.h"
#include "ternary_device/bench.h"
#include "ternary_device/gpu_backend.h"
#include "ternary_device/gpu_engine.h"
#include "ternary_device/verify_problems.h"

GPUREADY_EMBEDDED(gpuready_ptx_ternary_read_sm_50)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_read_sm_80)

namespace gpuready::ternary {
namespace {

const KernelImage kReadImages[] = {
    {gpuready_ptx_ternary_read_sm_50_begin, gpuready_ptx_ternary_read_sm_50_end, 50, false},
    {gpuready_ptx_ternary_read_sm_80_begin, gpuready_ptx_ternary_read_sm_80_end, 80, false}};
const Kernel kRead{"gpuready_ternary_read", kReadImages};

using Record = std::function<gpuready::Result<void>()>;

struct Samples {
  double least_us = 0, median_us = 0;
  std::uint64_t count = 0;
};

// Microseconds of one of the `calls` that `record` gives to the stream.
gpuready::Result<Samples> time_calls(Device& device, StreamId stream, unsigned calls,
                                     double budget_s, const Record& record) {
  auto timer = StreamTimer::make(device, stream);
  if (!timer) return std::unexpected(timer.error());
  if (auto warm = record(); !warm) return std::unexpected(warm.error());
  if (auto done = device.synchronize(stream); !done) return std::unexpected(done.error());
  std::optional<GraphId> graph;
  if (device.begin_capture(stream)) {
    auto recorded = record();
    auto captured = device.end_capture(stream);
    if (!recorded) return std::unexpected(recorded.error());
    if (captured) graph = *captured;
  }
  const auto once = [&] { return graph ? device.launch_graph(stream, *graph) : record(); };
  const auto sample = [&](int repeats) -> gpuready::Result<double> {
    if (auto done = timer->start(); !done) return std::unexpected(done.error());
    for (int i = 0; i < repeats; ++i)
      if (auto done = once(); !done) return std::unexpected(done.error());
    auto ms = timer->stop_ms();
    if (!ms) return std::unexpected(ms.error());
    return *ms * 1e3 / (repeats * static_cast<double>(calls));
  };
  std::vector<double> us;
  const auto start = Clock::now();
  auto first = sample(1);
  if (!first) return std::unexpected(first.error());
  // A sample of at least 2 ms: events tell half a microsecond.
  const double whole_us = std::max(*first * calls, 0.5);
  const int repeats = std::clamp(static_cast<int>(2000 / whole_us), 1, 200);
  while (us.size() < 5 || (elapsed_ms(start) < budget_s * 1e3 && us.size() < 100)) {
    auto one = sample(repeats);
    if (!one) return std::unexpected(one.error());
    us.push_back(*one);
  }
  if (graph) (void)device.destroy_graph(*graph);
  std::sort(us.begin(), us.end());
  return Samples{us.front(), us[us.size() / 2], us.size()};
}

std::optional<double> read_rate(Device& device, StreamId stream, double budget_s) {
  const auto memory = DeviceBuffer::make(device, GiB);
  if (!memory || device.info().executor != "cuda" || !device.prepare(kRead)) return std::nullopt;
  const std::uint64_t params[] = {memory->address(), GiB, memory->address()};
  std::optional<double> best;
  for (const unsigned per_unit : {4u, 8u, 32u}) {
    const LaunchShape shape{.blocks = device.info().units * per_unit, .threads = 256};
    const auto time = time_calls(device, stream, 1, budget_s / 3, [&] {
      return device.launch(stream, kRead, shape, params, sizeof params);
    });
    if (time) best = std::max(best.value_or(0), static_cast<double>(GiB) / time->least_us * 1e6);
  }
  return best;
}

struct Operands {
  Codes codes;
  std::vector<std::int8_t> y;
};
Operands operands(const BenchShape& shape) {
  Numbers numbers(3);
  Operands made;
  made.codes.shape = {shape.n, shape.k};
  made.codes.scales = {1.0f};
  made.codes.values.resize(static_cast<std::size_t>(shape.n * shape.k));
  for (std::int8_t& code : made.codes.values)
    code = static_cast<std::int8_t>(numbers.between(-1, 1));
  made.y.resize(static_cast<std::size_t>(shape.m * shape.k));
  for (std::int8_t& q : made.y) q = static_cast<std::int8_t>(numbers.between(-127, 127));
  return made;
}

const GpuProduct* product_for(const Device& device, Shape weights, std::int64_t rows) {
  for (const GpuProduct& product : gpu_products())
    if (product.serves(device.info(), weights, rows)) return &product;
  return nullptr;
}

// On the device alone, with weights that its cache does not hold.
Result<Samples> time_on_device(Device& device, GpuEngine& engine, StreamId stream,
                               const BenchShape& shape, const GpuWeights& weights,
                               const Activations& y, double budget_s) {
  const auto told = [&](const gpuready::Error& error) {
    return std::unexpected(device_error(device, error));
  };
  const GpuProduct* product = product_for(device, weights.shape(), shape.m);
  if (product == nullptr)
    return std::unexpected(Error{ErrorKind::unsupported_tier, "no kernel serves this product"});
  const GpuWeightsView& view = weights.view();
  const std::uint64_t bytes = std::uint64_t{view.row_tiles} * view.col_tiles * kTileBytes;
  const std::uint64_t wanted = 4 * device.info().l2_cache_bytes.value_or(32 * MiB);
  const std::uint64_t copies = std::clamp<std::uint64_t>((wanted + bytes - 1) / bytes, 2, 512);
  const auto memory = DeviceBuffer::make(device, copies * bytes);
  const std::uint64_t out_bytes = 4 * static_cast<std::uint64_t>(shape.m * shape.n);
  const auto out = DeviceBuffer::make(device, out_bytes);
  const std::uint64_t room = product->workspace_bytes(device.info(), weights.shape(), shape.m);
  const auto workspace = DeviceBuffer::make(device, std::max<std::uint64_t>(room, 256));
  if (!memory) return told(memory.error());
  if (!out) return told(out.error());
  if (!workspace) return told(workspace.error());
  auto activations = engine.allocate_activations(shape.m, shape.k);
  if (!activations) return std::unexpected(activations.error());
  if (auto done = engine.upload(stream, y, *activations); !done)
    return std::unexpected(done.error());
  std::vector<GpuWeightsView> views(copies, view);
  for (std::uint64_t i = 0; i < copies; ++i) {
    views[i].tiles = memory->address() + i * bytes;
    if (auto done = device.copy_on_device(stream, views[i].tiles, view.tiles, bytes); !done)
      return told(done.error());
  }
  if (auto done = product->prepare(device, weights.shape(), shape.m); !done)
    return told(done.error());
  const auto time = time_calls(device, stream, static_cast<unsigned>(copies), budget_s, [&] {
    for (const GpuWeightsView& copy : views) {
      auto done = product->run({device,
                                stream,
                                copy,
                                activations->view(),
                                shape.m,
                                {OutputType::f32, {out->address(), out_bytes}},
                                {workspace->address(), room}});
      if (!done) return done;
    }
    return gpuready::Result<void>();
  });
  if (!time) return told(time.error());
  return *time;
}

Samples time_call(Backend& backend, const BackendWeights& weights, const Activations& y,
                  std::vector<float>& out, double budget_s) {
  std::vector<double> us;
  if (!backend.multiply(weights, y, std::span(out))) return {};
  const auto start = Clock::now();
  while (us.size() < 5 || elapsed_ms(start) < budget_s * 1e3) {
    const auto one = Clock::now();
    if (!backend.multiply(weights, y, std::span(out))) return {};
    us.push_back(elapsed_ms(one) * 1e3);
  }
  std::sort(us.begin(), us.end());
  return {us.front(), us[us.size() / 2], us.size()};
}

void take(BenchRow& row, const Samples& samples) {
  row.status = samples.count > 0 ? CheckStatus::passed : CheckStatus::failed;
  row.least_us = samples.least_us;
  row.median_us = samples.median_us;
  row.samples = samples.count;
  if (samples.count == 0) row.reason = "the product failed";
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
    if (options.stop != nullptr && options.stop->load()) break;
    BenchRow row;
    row.subject = subject;
    row.device = device.info().name;
    row.form = to_string(Form::two_bit);
    row.shape = shape;
    row.timed = Timed::device;
    row.read_bytes_per_s = reading;
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
    const auto y = Activations::from_int8(made.y, shape.m, shape.k);
    const auto weights = engine->load(made.codes);
    if (!y || !weights) {
      refused(!y ? y.error().message : weights.error().message);
      continue;
    }
    row.kernel = engine->kernel_for(weights->shape(), shape.m);
    row.weight_bytes =
        std::uint64_t{weights->view().row_tiles} * weights->view().col_tiles * kTileBytes;
    const auto samples =
        time_on_device(device, *engine, stream->id(), shape, *weights, *y, options.budget_s);
    if (!samples) {
      refused(samples.error().message);
      continue;
    }
    take(row, *samples);
    rows.push_back(row);
  }
  return rows;
}

namespace {

// Through the backend: what a caller with host memory waits for.
std::vector<BenchRow> bench_calls(Backend& backend, const BenchOptions& options) {
  std::vector<BenchRow> rows;
  const auto shapes =
      options.shapes.empty() ? default_bench_shapes() : std::span<const BenchShape>(options.shapes);
  for (const BenchShape& shape : shapes) {
    if (options.stop != nullptr && options.stop->load()) break;
    BenchRow row;
    row.subject = backend.info().id;
    row.device = backend.info().name;
    row.form = to_string(Form::two_bit);
    row.shape = shape;
    const Operands made = operands(shape);
    const auto y = Activations::from_int8(made.y, shape.m, shape.k);
    const auto packed = PackedWeights::pack(made.codes);
    auto weights = packed
                       ? backend.load(*packed)
                       : Result<std::unique_ptr<BackendWeights>>(std::unexpected(packed.error()));
    if (!weights || !y) {
      row.status = CheckStatus::failed;
      row.reason = !y ? y.error().message : weights.error().message;
      rows.push_back(std::move(row));
      continue;
    }
    row.kernel = backend.kernel_for(packed->shape(), shape.m);
    row.weight_bytes = packed->bytes();
    std::vector<float> out(static_cast<std::size_t>(shape.m * shape.n));
    take(row, time_call(backend, **weights, *y, out, options.budget_s));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::vector<BenchRow> bench_gpus(std::span<const Target> targets, const BenchOptions& options) {
  std::vector<BenchRow> rows;
  for (const Subject& subject : gpu_subjects(targets)) {
    const auto missing = [&](const std::string& reason) {
      BenchRow row;
      row.subject = subject.name;
      row.reason = reason;
      rows.push_back(std::move(row));
    };
    if (!subject.open) {
      missing(subject.reason);
      continue;
    }
    const std::size_t colon = subject.name.find(':');
    const std::string id = subject.name.substr(colon + 1);
    const bool cuda = subject.name.starts_with("cuda:");
    auto device = cuda ? open_cuda_device(id) : open_vulkan_device(id);
    if (!device) {
      missing(device.error().message);
      continue;
    }
    for (BenchRow& row : bench_device(**device, options)) rows.push_back(std::move(row));
    auto backend = make_gpu_backend(std::move(*device));
    if (!backend) {
      missing(backend.error().message);
      continue;
    }
    for (BenchRow& row : bench_calls(**backend, options)) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace gpuready::ternary
