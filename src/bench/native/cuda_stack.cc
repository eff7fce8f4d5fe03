// The workloads on an NVIDIA GPU: products by cuBLASLt or by our own kernel, GELU and mean by our
// own kernels, timed by events of the device.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "bench/inputs.h"
#include "bench/native/cublaslt_paths.h"
#include "bench/native/narrow.h"
#include "bench/native/native_stack.h"
#include "device/cublaslt.h"
#include "device/cuda_device.h"
#include "device/cuda_driver.h"
#include "device/cuda_identity.h"
#include "kernels/bench_kernels.h"

namespace gpuready::bench {
namespace {

constexpr std::uint64_t kWorkspaceBytes = 128u << 20;
constexpr int kMostAlgorithms = 48;
constexpr double kTrialMs = 2;  // that one trial of an algorithm lasts at least
// Those within so much of the best, with the heuristics' favourite, are tried again in turns. The
// favourite is left only for one that is so much faster: at a GPU's power limit times sway by some
// percent.
constexpr double kFinalist = 1.05;
constexpr std::size_t kMostFinalists = 3;
constexpr int kFinalTurns = 3;
constexpr double kFinalMs = 150;
constexpr double kBetter = 0.98;

BenchDtype kernel_dtype(Dtype dtype) {
  return dtype == Dtype::bf16   ? BenchDtype::bf16
         : dtype == Dtype::fp16 ? BenchDtype::fp16
                                : BenchDtype::fp32;
}

// One product of the workload, and the algorithm that cuBLASLt is to use for it.
struct Product {
  LtProblem problem;
  LtAddresses addresses;
  bool gelu = false;
  std::optional<LtProduct> prepared = std::nullopt;
  LtAlgorithm algorithm = {};
};

class CudaStack final : public NativeStack {
 public:
  CudaStack(const Request& request, bool tuned, std::unique_ptr<Device> device)
      : r_(request), tuned_(tuned), device_(std::move(device)) {}
  ~CudaStack() override {
    if (graph_) (void)device_->destroy_graph(*graph_);
    for (const EventId event : events_) (void)device_->destroy_event(event);
  }

  Result<void> open() {
    facts.timer = "device_events";
    facts.device_name = device_->info().name;
    stream_.emplace(TRY(DeviceStream::make(*device_)));
    for (const Kernel* kernel : {&kBenchGemm, &kBenchGelu, &kBenchMean, &kBenchAttention})
      TRY(device_->prepare(*kernel));
    TRY(place_tensors());
    if (tuned_) TRY(tune());
    facts.peak_memory_bytes = allocated_;
    // After what the stack itself holds.
    const std::uint64_t l2 = device_->info().l2_cache_bytes.value_or(64u << 20);
    flush_bytes_ = std::max<std::uint64_t>(2 * l2, 64u << 20);
    flush_.emplace(TRY(DeviceBuffer::make(*device_, 2 * flush_bytes_)));
    return {};
  }

  // The first piece fills the queue and is not a sample.
  Result<std::vector<double>> block(std::uint64_t iterations, std::uint64_t count) override {
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

  Result<double> cold_sample_ms() override {
    while (events_.size() < 2) events_.push_back(TRY(device_->create_event()));
    const DeviceAddress flush = flush_->address();
    TRY(device_->copy_on_device(stream(), flush, flush + flush_bytes_, flush_bytes_));
    TRY(device_->record(events_[0], stream()));
    TRY(repeat(1));
    TRY(device_->record(events_[1], stream()));
    TRY(device_->synchronize(stream()));
    return device_->elapsed_ms(events_[0], events_[1]);
  }

  Result<std::vector<Output>> outputs() override {
    if (r_.task == Task::attention)
      return std::vector<Output>{TRY(read(y_, attention_.rows, kHeadElements))};
    if (r_.task != Task::mlp) return std::vector<Output>{TRY(read(y_, r_.m, r_.n))};
    Output mean{1, 1, std::vector<float>(1)};
    TRY(device_->copy_to_host(stream(), mean.values.data(), mean_, sizeof(float)));
    TRY(device_->synchronize(stream()));
    return std::vector<Output>{TRY(read(y_, r_.batch, r_.hidden)),
                               TRY(read(z_, r_.batch, r_.batch)), std::move(mean)};
  }

 private:
  StreamId stream() const { return stream_->id(); }

  Result<DeviceAddress> allocate(std::uint64_t bytes) {
    buffers_.push_back(TRY(DeviceBuffer::make(*device_, std::max<std::uint64_t>(bytes, 256))));
    allocated_ += buffers_.back().bytes();
    return buffers_.back().address();
  }
  Result<DeviceAddress> place(const Input& input) {
    const auto bytes = narrowed(input.values, r_.dtype);
    const DeviceAddress address = TRY(allocate(bytes.size()));
    TRY(device_->copy_to_device(stream(), address, bytes.data(), bytes.size()));
    TRY(device_->synchronize(stream()));
    return address;
  }
  Result<Output> read(DeviceAddress address, std::uint64_t rows, std::uint64_t columns) {
    std::vector<unsigned char> bytes(rows * columns * bytes_of(r_.dtype));
    TRY(device_->copy_to_host(stream(), bytes.data(), address, bytes.size()));
    TRY(device_->synchronize(stream()));
    return Output{rows, columns, widened(bytes, r_.dtype)};
  }

  Result<void> place_tensors() {
    const auto inputs = inputs_of(r_);
    std::vector<DeviceAddress> in;
    for (const Input& input : inputs) in.push_back(TRY(place(input)));
    const unsigned size = bytes_of(r_.dtype);
    const auto problem = [&](std::uint64_t m, std::uint64_t n, std::uint64_t k, bool transposed,
                             DeviceAddress bias) {
      LtProblem made{m, n, k, transposed, bias, LtType::fp32, LtCompute::fp32};
      if (r_.dtype == Dtype::bf16) made.type = LtType::bf16;
      if (r_.dtype == Dtype::fp16) made.type = LtType::fp16;
      if (r_.dtype == Dtype::tf32) made.compute = LtCompute::tf32;
      return made;
    };
    const std::uint64_t b = r_.batch, h = r_.hidden;
    switch (r_.task) {
      case Task::mlp:
        act_ = TRY(allocate(4 * b * h * size));
        y_ = TRY(allocate(b * h * size));
        z_ = TRY(allocate(b * b * size));
        products_.push_back({problem(b, 4 * h, h, true, in[2]), {in[0], in[1], act_}, true});
        products_.push_back({problem(b, h, 4 * h, true, in[4]), {act_, in[3], y_}});
        products_.push_back({problem(b, b, h, true, 0), {y_, y_, z_}});
        return place_mean();
      case Task::gemm:
      case Task::ternary:
        y_ = TRY(allocate(r_.m * r_.n * size));
        products_.push_back(
            {problem(r_.m, r_.n, r_.k, r_.task == Task::ternary, 0), {in[0], in[1], y_}});
        return {};
      case Task::copy:
        source_ = in[0];
        y_ = TRY(allocate(r_.m * r_.n * size));
        return {};
      case Task::attention:
        attention_ = {in[0], in[1], in[2], 0, inputs[0].rows, r_.m, kernel_dtype(r_.dtype)};
        y_ = attention_.y_address = TRY(allocate(inputs[0].values.size() * size));
        return {};
    }
    return fail(ErrorKind::bad_input, "there is no such workload");
  }
  Result<void> place_mean() {
    mean_blocks_ = blocks_for(r_.batch * r_.batch);
    partial_ = TRY(allocate(mean_blocks_ * sizeof(float)));
    mean_ = TRY(allocate(sizeof(float)));
    counter_ = TRY(allocate(sizeof(std::uint64_t)));
    const std::uint64_t zero = 0;
    TRY(device_->copy_to_device(stream(), counter_, &zero, sizeof zero));
    return device_->synchronize(stream());
  }
  // 16 bytes a thread, and no more blocks than run at once.
  unsigned blocks_for(std::uint64_t elements) const {
    const std::uint64_t steps = elements * bytes_of(r_.dtype) / 16;
    const std::uint64_t wanted = (steps + kBenchThreads - 1) / kBenchThreads;
    return static_cast<unsigned>(
        std::clamp<std::uint64_t>(wanted, 1, std::uint64_t{8} * device_->info().units));
  }

  Result<void> launch(const Kernel& kernel, unsigned blocks, const auto& params) {
    return device_->launch(stream(), kernel, {.blocks = blocks, .threads = kBenchThreads}, &params,
                           sizeof params);
  }
  Result<void> multiply(const Product& product) {
    const LtProblem& p = product.problem;
    if (tuned_) {
      TRY(product.prepared->launch(product.addresses, product.algorithm, workspace_, stream()));
      if (!product.gelu) return {};
      return launch(kBenchGelu, blocks_for(p.m * p.n),
                    BenchGeluParams{product.addresses.c, p.m * p.n, kernel_dtype(r_.dtype)});
    }
    const auto tiles = [](std::uint64_t size) {
      return (size + kBenchGemmTile - 1) / kBenchGemmTile;
    };
    return launch(
        kBenchGemm, static_cast<unsigned>(tiles(p.m) * tiles(p.n)),
        BenchGemmParams{product.addresses.a, product.addresses.b, p.bias, product.addresses.c, p.m,
                        p.n, p.k, kernel_dtype(r_.dtype), p.b_transposed, product.gelu});
  }
  Result<void> iterate() {
    if (r_.task == Task::attention)
      return launch(
          kBenchAttention,
          static_cast<unsigned>((attention_.rows + kBenchAttentionRows - 1) / kBenchAttentionRows),
          attention_);
    if (r_.task == Task::copy)
      return device_->copy_on_device(stream(), y_, source_, r_.m * r_.n * bytes_of(r_.dtype));
    for (const Product& product : products_) TRY(multiply(product));
    if (r_.task != Task::mlp) return {};
    return launch(kBenchMean, mean_blocks_,
                  BenchMeanParams{z_, r_.batch * r_.batch, partial_, counter_, mean_,
                                  kernel_dtype(r_.dtype)});
  }
  Result<void> repeat(std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i)
      TRY(graph_ ? device_->launch_graph(stream(), *graph_) : iterate());
    return {};
  }

  // Three times of an iteration of the whole workload, as it is set up now: an algorithm is to be
  // the best where the others' tensors have passed through the caches.
  Result<std::vector<double>> trials_ms(double least_ms) {
    TRY(block(1, 1));
    const double once = std::max(TRY(block(1, 1))[0], 1e-4);
    return block(static_cast<std::uint64_t>(std::ceil(least_ms / 3 / once)), 3);
  }
  Result<double> trial_ms(double least_ms) { return std::ranges::min(TRY(trials_ms(least_ms))); }

  Result<void> tune() {
    const auto start = Clock::now();
    library_ = TRY(CublasLt::open(cublaslt_paths()));
    facts.versions["cublaslt"] = library_->version();
    workspace_ = TRY(allocate(kWorkspaceBytes));
    for (Product& product : products_) {
      product.prepared.emplace(
          TRY(library_->prepare(product.problem, kWorkspaceBytes, kMostAlgorithms)));
      TRY(take_first_that_runs(product));
    }
    for (Product& product : products_) TRY(choose(product));
    TRY(choose_graph());
    facts.compile_ms = elapsed_ms(start);
    return {};
  }

  // So that trials of the other products have all that they need.
  Result<void> take_first_that_runs(Product& product) {
    std::string why;
    for (const LtAlgorithm& algorithm : product.prepared->algorithms()) {
      auto ran = product.prepared->launch(product.addresses, algorithm, workspace_, stream());
      if (ran) ran = device_->synchronize(stream());
      if (device_->lost()) return std::unexpected(*device_->lost());
      if (ran) {
        product.algorithm = algorithm;
        return {};
      }
      if (why.empty()) why = ran.error().message;
    }
    return fail(ErrorKind::device, "none of cuBLASLt's algorithms runs this product: " + why);
  }

  using TrialTimes = std::vector<std::pair<double, std::size_t>>;  // ms, place in the proposals

  Result<void> choose(Product& product) {
    TrialTimes times;
    const auto& algorithms = product.prepared->algorithms();
    for (std::size_t i = 0; i < algorithms.size(); ++i) {
      product.algorithm = algorithms[i];
      // One that fails is none; a device that is lost fails with all that follow.
      if (const auto ms = trial_ms(kTrialMs)) times.emplace_back(*ms, i);
      if (device_->lost()) return std::unexpected(*device_->lost());
    }
    if (times.empty())
      return fail(ErrorKind::device, "none of cuBLASLt's algorithms ran this product");
    product.algorithm = algorithms[TRY(choose_under_load(product, finalists_of(times)))];
    return {};
  }

  // The fastest ones, and first among them the favourite, the earliest proposal that ran.
  static TrialTimes finalists_of(TrialTimes times) {
    const auto favourite = times.front();
    std::ranges::sort(times);
    const double most = times.front().first * kFinalist;
    std::erase_if(times, [&](const auto& time) { return time.first > most || time == favourite; });
    times.resize(std::min(times.size(), kMostFinalists - 1));
    times.insert(times.begin(), favourite);
    return times;
  }

  // What a short trial takes for the fastest may be slow under lasting load, which brings a GPU to
  // its power limit: of a longer one the last third counts.
  Result<std::size_t> choose_under_load(Product& product, TrialTimes finalists) {
    const auto& algorithms = product.prepared->algorithms();
    for (auto& [ms, index] : finalists) ms = 0;
    for (int turn = 0; turn < kFinalTurns && finalists.size() > 1; ++turn)
      for (auto& [ms, index] : finalists) {
        product.algorithm = algorithms[index];
        ms += TRY(trials_ms(kFinalMs)).back() / kFinalTurns;
      }
    const auto best = std::ranges::min(finalists);
    const auto chosen = best.first < kBetter * finalists.front().first ? best : finalists.front();
    facts.notes.push_back(fmt::format(
        "product {}x{}x{}: algorithm {} of {}, {:.3f} of the favourite's time", product.problem.m,
        product.problem.n, product.problem.k, chosen.second + 1, algorithms.size(),
        chosen.first > 0 ? chosen.first / finalists.front().first : 1));
    return chosen.second;
  }

  // A graph spares the host; a stream has shorter gaps between iterations.
  Result<void> choose_graph() {
    const double as_stream = TRY(trial_ms(10 * kTrialMs));
    TRY(device_->begin_capture(stream()));
    const auto recorded = iterate();
    const auto graph = device_->end_capture(stream());
    if (!recorded || !graph) {
      facts.notes.push_back("launched one by one: no CUDA graph: " +
                            (recorded ? graph.error() : recorded.error()).message);
      return {};
    }
    graph_ = *graph;
    const double as_graph = TRY(trial_ms(10 * kTrialMs));
    const bool better = as_graph <= as_stream;
    facts.notes.push_back(
        fmt::format("launched {}: {:.4f} ms as a CUDA graph, {:.4f} ms one by one",
                    better ? "as a CUDA graph" : "one by one", as_graph, as_stream));
    if (better) return {};
    const GraphId unused = *std::exchange(graph_, std::nullopt);
    return device_->destroy_graph(unused);
  }

  const Request r_;
  const bool tuned_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<CublasLt> library_;
  std::optional<DeviceStream> stream_;
  std::vector<DeviceBuffer> buffers_;
  std::optional<DeviceBuffer> flush_;
  std::uint64_t flush_bytes_ = 0, allocated_ = 0;
  DeviceAddress source_ = 0, act_ = 0, y_ = 0, z_ = 0, mean_ = 0, partial_ = 0, counter_ = 0,
                workspace_ = 0;
  unsigned mean_blocks_ = 1;
  std::vector<Product> products_;
  BenchAttentionParams attention_ = {};
  std::optional<GraphId> graph_;
  std::vector<EventId> events_;
};

}  // namespace

Result<std::unique_ptr<NativeStack>> open_cuda_stack(const Request& request, bool tuned) {
  if (!tuned && request.dtype == Dtype::tf32)
    return fail(ErrorKind::unsupported, "gpuready's own kernels have no tf32");
  if (tuned && (request.task == Task::copy || request.task == Task::attention))
    return fail(ErrorKind::unsupported, fmt::format("cuBLASLt has no {}", to_string(request.task)));
  const CudaDriver* driver = TRY(CudaDriver::start());
  const auto identities = TRY(list_cuda_identities(*driver));
  if (identities.empty())
    return fail(ErrorKind::no_device, "the CUDA driver shows no GPU to this process");
  auto stack =
      std::make_unique<CudaStack>(request, tuned, TRY(open_cuda_device(identities.front().uuid)));
  TRY(stack->open());
  return stack;
}

}  // namespace gpuready::bench
