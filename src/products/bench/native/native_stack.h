// gpuready's own stacks: `gpuready bench adapter` runs one in its process and answers as every
// adapter does.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bench/run/reference.h"
#include "bench/run/request.h"

namespace gpuready::bench {

class NativeStack {
 public:
  virtual ~NativeStack() = default;
  // `count` samples without a gap, each the mean time in ms of one of `iterations` iterations.
  virtual Result<std::vector<double>> block(std::uint64_t iterations, std::uint64_t count) = 0;
  virtual Result<double> cold_sample_ms() = 0;  // with caches flushed before it
  virtual Result<std::vector<Output>> outputs() = 0;

  struct Facts {
    std::string mode = "native", timer = "host_clock", device_name;
    std::map<std::string, std::string> versions;
    std::optional<double> compile_ms;
    std::optional<std::uint64_t> peak_memory_bytes;
    std::vector<std::string> notes;
    double least_sample_ms = 1;  // that one sample lasts
    bool reference = false;      // made to be checked against, not to be fast
  };
  Facts facts;
};

// By the stack's id. Errors of kind not_found, no_device or unsupported say that it is not here.
Result<std::unique_ptr<NativeStack>> open_native_stack(std::string_view id, const Request& request);
Result<std::unique_ptr<NativeStack>> open_cpu_stack(const Request& request);
// On a GPU. `tuned`: products by cuBLASLt, on CUDA; else our own kernels.
Result<std::unique_ptr<NativeStack>> open_dense_stack(const Request& request, bool tuned);
// Of the trials of cuBLASLt's algorithms, in ms with the place in its proposals: the earliest one,
// which its heuristics favour, and up to two others of the fastest within 5% of the best.
using TrialTimes = std::vector<std::pair<double, std::size_t>>;
TrialTimes finalists_of(TrialTimes times);
// The task ternary by our ternary kernels on the CPU, CUDA or Vulkan: activations are quantised to
// int8 in each iteration, weights are packed before.
Result<std::unique_ptr<NativeStack>> open_ternary_stack(const Request& request);

// A warm-up has ended when two means in a row are within 1% of the one before them.
class Steadiness {
 public:
  bool after(double mean) {
    agreed_ = last_ && std::abs(mean - *last_) <= 0.01 * *last_ ? agreed_ + 1 : 0;
    last_ = mean;
    return agreed_ >= 2;
  }

 private:
  std::optional<double> last_;
  int agreed_ = 0;
};

// The answer that is printed, and its exit code: the contract's. Never fails.
struct NativeAnswer {
  Json doc;
  int exit_code = 0;
};
using SayStep = std::function<void(std::string_view)>;  // so that no one takes us for hung
NativeAnswer answer_natively(std::string_view id, const Result<Request>& request,
                             const SayStep& say);

}  // namespace gpuready::bench
