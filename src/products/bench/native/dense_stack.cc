// The workloads on a GPU: products by cuBLASLt or by our own kernel, GELU, mean and attention by
// our own kernels.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "bench/native/gpu_stack.h"
#include "device/cuda/cublaslt.h"
#include "host/host.h"
#include "kernels/bench_kernels.h"

namespace gpuready::bench {
namespace {

// Where cuBLASLt may be beside the loader's own places: in the packages of each Python of PATH
// (nvidia/cu13, nvidia/cublas), and in CUDA toolkits; the newest first.
std::vector<std::string> cublaslt_paths(Host& host) {
  std::vector<std::string> folders;
  const std::string path = host.environment("PATH").value_or("");
  for (const std::string_view bin : split(path, ":")) {
    if (!bin.starts_with('/') || !host.exists(std::string(bin) + "/python3")) continue;
    const std::string lib = std::string(bin.substr(0, bin.rfind('/'))) + "/lib";
    const auto entries = host.list_directory(lib);
    if (!entries) continue;
    for (const std::string& entry : *entries) {
      if (!entry.starts_with("python3")) continue;
      for (const char* packages : {"/site-packages", "/dist-packages"})
        for (const char* package : {"/nvidia/cu13/lib", "/nvidia/cublas/lib"})
          folders.push_back(lib + "/" + entry + packages + package);
    }
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  std::vector<std::string> files;
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"})
    for (const std::string& folder : folders) {
      std::string file = folder + "/" + name;
      if (host.exists(file)) files.push_back(std::move(file));
    }
  return files;
}

constexpr std::uint64_t kWorkspaceBytes = 128u << 20;
constexpr int kMostAlgorithms = 48;
constexpr double kTrialMs = 2;  // that one trial of an algorithm lasts at least
// Finalists are tried again in turns. The favourite is left only for one that is this much faster:
// at a GPU's power limit times sway by some percent.
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

class DenseStack final : public GpuStack {
 public:
  DenseStack(const Request& request, bool tuned, std::unique_ptr<Device> device)
      : GpuStack(request, std::move(device)), tuned_(tuned) {
    facts.reference = !tuned;
  }

  Result<void> open() {
    TRY(start());
    for (const Kernel* kernel : {&kBenchGemm, &kBenchMean, &kBenchAttention})
      TRY(device_->prepare(*kernel));
    TRY(place_tensors());
    if (tuned_) TRY(tune());
    return reserve_flush();
  }

  Result<std::vector<Output>> outputs() override {
    if (r_.task == Task::attention)
      return std::vector<Output>{TRY(read(y_, attention_.rows, kHeadElements, r_.dtype))};
    if (r_.task != Task::mlp) return std::vector<Output>{TRY(read(y_, r_.m, r_.n, r_.dtype))};
    return std::vector<Output>{TRY(read(y_, r_.batch, r_.hidden, r_.dtype)),
                               TRY(read(z_, r_.batch, r_.batch, r_.dtype)),
                               TRY(read(mean_, 1, 1, Dtype::fp32))};
  }

 private:
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

  // Blocks for this many pieces of work: Vulkan's kernels take several each where there are more.
  unsigned at_most_one_each(std::uint64_t pieces) const {
    return static_cast<unsigned>(
        std::min<std::uint64_t>(pieces, device_->info().max_blocks.value_or(~0u >> 1)));
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
        kBenchGemm, at_most_one_each(tiles(p.m) * tiles(p.n)),
        BenchGemmParams{product.addresses.a, product.addresses.b, p.bias, product.addresses.c, p.m,
                        p.n, p.k, kernel_dtype(r_.dtype), p.b_transposed, product.gelu});
  }
  Result<void> iterate() override {
    if (r_.task == Task::attention)
      return launch(
          kBenchAttention,
          at_most_one_each((attention_.rows + kBenchAttentionRows - 1) / kBenchAttentionRows),
          attention_);
    if (r_.task == Task::copy)
      return device_->copy_on_device(stream(), y_, source_, r_.m * r_.n * bytes_of(r_.dtype));
    for (const Product& product : products_) TRY(multiply(product));
    if (r_.task != Task::mlp) return {};
    return launch(kBenchMean, mean_blocks_,
                  BenchMeanParams{z_, r_.batch * r_.batch, partial_, counter_, mean_,
                                  kernel_dtype(r_.dtype)});
  }
  Result<void> tune() {
    const auto start = Clock::now();
    library_ = TRY(CublasLt::open(cublaslt_paths(*make_live_host())));
    facts.versions["cublaslt"] = library_->version();
    TRY(device_->prepare(kBenchGelu));
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

  const bool tuned_;
  std::unique_ptr<CublasLt> library_;
  DeviceAddress source_ = 0, act_ = 0, y_ = 0, z_ = 0, mean_ = 0, partial_ = 0, counter_ = 0,
                workspace_ = 0;
  unsigned mean_blocks_ = 1;
  std::vector<Product> products_;
  BenchAttentionParams attention_ = {};
};

}  // namespace

TrialTimes finalists_of(TrialTimes times) {
  constexpr double kFinalist = 1.05;
  constexpr std::size_t kMostFinalists = 3;
  const auto favourite = times.front();
  std::ranges::sort(times);
  const double most = times.front().first * kFinalist;
  std::erase_if(times, [&](const auto& time) { return time.first > most || time == favourite; });
  times.resize(std::min(times.size(), kMostFinalists - 1));
  times.insert(times.begin(), favourite);
  return times;
}

Result<std::unique_ptr<NativeStack>> open_dense_stack(const Request& request, bool tuned) {
  if (request.device == "vulkan" && request.dtype != Dtype::fp32)
    return fail(ErrorKind::unsupported,
                fmt::format("gpuready's kernels for Vulkan compute in fp32, not in {}",
                            to_string(request.dtype)));
  if (!tuned && request.dtype == Dtype::tf32)
    return fail(ErrorKind::unsupported, "gpuready's own kernels have no tf32");
  if (tuned && (request.task == Task::copy || request.task == Task::attention))
    return fail(ErrorKind::unsupported, fmt::format("cuBLASLt has no {}", to_string(request.task)));
  auto stack = std::make_unique<DenseStack>(request, tuned, TRY(open_gpu(request)));
  TRY(stack->open());
  return stack;
}

}  // namespace gpuready::bench
