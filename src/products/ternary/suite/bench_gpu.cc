// Times of products by GPUs, each device in turn.
#include <algorithm>

#include "base/clock.h"
#include "base/statistics.h"
#include "device/cuda/cuda_device.h"
#include "device/vulkan/vulkan_device.h"
#include "ternary/device/gpu_backend.h"
#include "ternary/suite/bench_parts.h"
#include "ternary/suite/verify_problems.h"

namespace gpuready::ternary {

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

void take(BenchRow& row, const Samples& samples) {
  row.status = samples.count > 0 ? CheckStatus::passed : CheckStatus::failed;
  row.least_us = samples.least_us;
  row.median_us = samples.median_us;
  row.samples = samples.count;
  if (samples.count == 0) row.reason = "the product failed";
}

namespace {

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
  return Samples{std::ranges::min(us), median(us), us.size()};
}

// Through the backend: what a caller with host memory waits for.
std::vector<BenchRow> bench_calls(Backend& backend, const BenchOptions& options) {
  std::vector<BenchRow> rows;
  const auto shapes =
      options.shapes.empty() ? default_bench_shapes() : std::span<const BenchShape>(options.shapes);
  for (const BenchShape& shape : shapes) {
    BenchRow row;
    row.subject = backend.info().id;
    row.device = backend.info().name;
    row.form = to_string(Form::two_bit);
    row.shape = shape;
    if (options.stopped()) {
      row.reason = kInterrupted;
      rows.push_back(std::move(row));
      continue;
    }
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
    if (!subject.open || options.stopped()) {
      missing(subject.open ? std::string(kInterrupted) : subject.reason);
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
