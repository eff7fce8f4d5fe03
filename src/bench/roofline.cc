#include "bench/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace gpuready::bench {
namespace {

constexpr std::size_t kRepeats = 3;
constexpr double kMostSeconds = 2;

// A copy of what no cache holds, and a product that fills the device.
struct RooflineSizes {
  std::uint64_t copy_rows, copy_columns, gemm;
};
RooflineSizes sizes_on(std::string_view device) {
  if (device == "cuda") return {16'384, 8192, 8192};
  return {4096, 4096, 256};  // our own products there are no fast ones
}

Request part_of(const Request& run, Task task) {
  const RooflineSizes sizes = sizes_on(run.device);
  Request part;
  part.task = task;
  part.device = run.device;
  part.dtype = run.dtype;
  part.m = task == Task::copy ? sizes.copy_rows : sizes.gemm;
  part.n = task == Task::copy ? sizes.copy_columns : sizes.gemm;
  part.k = sizes.gemm;
  part.iters = 20;
  part.warmup = 5;
  part.cold_samples = 0;
  part.max_seconds = std::min(run.max_seconds, kMostSeconds);
  return part;
}

}  // namespace

MeasuredRoofline measure_roofline(const Request& request, const std::string& program,
                                  SessionOptions options) {
  options.repeats = kRepeats;
  MeasuredRoofline measured;
  for (const Task task : {Task::copy, Task::gemm}) {
    const Request part = part_of(request, task);
    // Always our own, whatever a variable says; cuBLASLt has products on CUDA alone.
    std::vector<std::string> ids = {"gpuready"};
    if (task == Task::gemm && part.device == "cuda") ids.emplace_back("gpuready_cublaslt");
    const auto stacks =
        stack_commands(ids, [](const std::string&) { return std::nullopt; }, program, "");
    const auto expected =
        reference_digests(part, std::max(1u, std::thread::hardware_concurrency()));
    const Workload work = workload_of(part);
    std::optional<double> best;
    std::string why;
    for (const auto& result : results_of(*stacks, run_session(*stacks, part, expected, options))) {
      const auto ns = result.status == StackStatus::ok ? latency_of(result).p50_ns : std::nullopt;
      if (ns)
        best = std::min(best.value_or(*ns), *ns);
      else
        why = result.reason;
    }
    auto& ceiling =
        task == Task::copy ? measured.roofline.bytes_per_s : measured.roofline.flops_per_s;
    const auto amount = task == Task::copy ? work.bytes : work.flops;
    if (best)
      ceiling = static_cast<double>(*amount) / *best * 1e9;
    else
      measured.notes.push_back(fmt::format("The roofline has no {}: {}",
                                           task == Task::copy ? "bandwidth" : "FLOPs", why));
  }
  return measured;
}

}  // namespace gpuready::bench
