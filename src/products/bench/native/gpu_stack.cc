#include "bench/native/gpu_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "bench/native/narrow.h"
#include "device/cuda/cuda_device.h"
#include "device/vulkan/vulkan_device.h"
#include "ternary/device/choose.h"

namespace gpuready::bench {
namespace {

constexpr double kGraphTrialMs = 20;

}  // namespace

GpuStack::GpuStack(const Request& request, std::unique_ptr<Device> device)
    : r_(request), device_(std::move(device)) {}

GpuStack::~GpuStack() {
  if (graph_) (void)device_->destroy_graph(*graph_);
  for (const EventId event : events_) (void)device_->destroy_event(event);
}

Result<void> GpuStack::start() {
  facts.timer = "device_events";
  facts.device_name = device_->info().name;
  if (device_->info().software.value_or(false))
    facts.notes.emplace_back("this Vulkan device is software: the CPU computes");
  stream_.emplace(TRY(DeviceStream::make(*device_)));
  return {};
}

Result<void> GpuStack::reserve_flush() {
  facts.peak_memory_bytes = facts.peak_memory_bytes.value_or(0) + allocated_;
  const std::uint64_t l2 = device_->info().l2_cache_bytes.value_or(64u << 20);
  flush_bytes_ = std::max<std::uint64_t>(2 * l2, 64u << 20);
  flush_.emplace(TRY(DeviceBuffer::make(*device_, 2 * flush_bytes_)));
  return {};
}

Result<std::vector<double>> GpuStack::block(std::uint64_t iterations, std::uint64_t count) {
  while (events_.size() < count + 1) events_.push_back(TRY(device_->create_event()));
  TRY(repeat(iterations));
  for (std::uint64_t i = 0; i <= count; ++i) {
    TRY(device_->record(events_[i], stream()));
    if (i < count) TRY(repeat(iterations));
  }
  TRY(device_->synchronize(stream()));
  std::vector<double> samples;
  for (std::uint64_t i = 0; i < count; ++i)
    samples.push_back(TRY(device_->elapsed_ms(events_[i], events_[i + 1])) /
                      static_cast<double>(iterations));
  return samples;
}

Result<double> GpuStack::cold_sample_ms() {
  while (events_.size() < 2) events_.push_back(TRY(device_->create_event()));
  const DeviceAddress flush = flush_->address();
  TRY(device_->copy_on_device(stream(), flush, flush + flush_bytes_, flush_bytes_));
  TRY(device_->record(events_[0], stream()));
  TRY(repeat(1));
  TRY(device_->record(events_[1], stream()));
  TRY(device_->synchronize(stream()));
  return device_->elapsed_ms(events_[0], events_[1]);
}

Result<DeviceAddress> GpuStack::allocate(std::uint64_t bytes) {
  buffers_.push_back(TRY(DeviceBuffer::make(*device_, std::max<std::uint64_t>(bytes, 256))));
  allocated_ += buffers_.back().bytes();
  return buffers_.back().address();
}

Result<DeviceAddress> GpuStack::place(std::span<const unsigned char> bytes) {
  const DeviceAddress address = TRY(allocate(bytes.size()));
  TRY(device_->copy_to_device(stream(), address, bytes.data(), bytes.size()));
  TRY(device_->synchronize(stream()));
  return address;
}

Result<DeviceAddress> GpuStack::place(const Input& input) {
  return place(narrowed(input.values, r_.dtype));
}

Result<Output> GpuStack::read(DeviceAddress address, std::uint64_t rows, std::uint64_t columns,
                              Dtype dtype) {
  std::vector<unsigned char> bytes(rows * columns * bytes_of(dtype));
  TRY(device_->copy_to_host(stream(), bytes.data(), address, bytes.size()));
  TRY(device_->synchronize(stream()));
  return Output{rows, columns, widened(bytes, dtype)};
}

// An algorithm is to be the best where the others' tensors have passed through the caches.
Result<std::vector<double>> GpuStack::trials_ms(double least_ms) {
  TRY(block(1, 1));
  const double once = std::max(TRY(block(1, 1))[0], 1e-4);
  return block(static_cast<std::uint64_t>(std::ceil(least_ms / 3 / once)), 3);
}

Result<double> GpuStack::trial_ms(double least_ms) {
  return std::ranges::min(TRY(trials_ms(least_ms)));
}

Result<void> GpuStack::choose_graph() {
  const double as_stream = TRY(trial_ms(kGraphTrialMs));
  const auto begun = device_->begin_capture(stream());
  const auto recorded = begun ? iterate() : begun;
  const auto graph =
      begun ? device_->end_capture(stream()) : Result<GraphId>(std::unexpected(begun.error()));
  if (!recorded || !graph) {
    facts.notes.push_back("launched one by one: no graph: " +
                          (recorded ? graph.error() : recorded.error()).message);
    return {};
  }
  graph_ = *graph;
  const double as_graph = TRY(trial_ms(kGraphTrialMs));
  const bool better = as_graph <= as_stream;
  facts.notes.push_back(fmt::format("launched {}: {:.4f} ms as a CUDA graph, {:.4f} ms one by one",
                                    better ? "as a CUDA graph" : "one by one", as_graph,
                                    as_stream));
  if (better) return {};
  const GraphId unused = *std::exchange(graph_, std::nullopt);
  return device_->destroy_graph(unused);
}

Result<void> GpuStack::repeat(std::uint64_t iterations) {
  for (std::uint64_t i = 0; i < iterations; ++i)
    TRY(graph_ ? device_->launch_graph(stream(), *graph_) : iterate());
  return {};
}

Result<std::unique_ptr<Device>> open_gpu(const Request& request) {
  const bool cuda = request.device == "cuda";
  const auto found = ternary::discover_gpus(
      {.kind = cuda ? ternary::TargetKind::cuda : ternary::TargetKind::vulkan, .id = {}});
  if (found.gpus.empty()) return fail(ErrorKind::no_device, join(found.reasons, "; "));
  auto gpu = std::ranges::find(found.gpus, false, &ternary::GpuCandidate::software);
  if (gpu == found.gpus.end()) gpu = found.gpus.begin();
  return cuda ? open_cuda_device(gpu->id) : open_vulkan_device(gpu->id);
}

}  // namespace gpuready::bench
