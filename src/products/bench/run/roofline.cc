#include "bench/run/roofline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cpu/cpus.h"

namespace gpuready::bench {
namespace {

constexpr std::size_t kRepeats = 3;
constexpr double kMostSeconds = 2;

// A copy of what no cache holds, and a product that fills the device within a second. Where a part
// has no result, the next of its task and device stands in for it.
struct Part {
  Task task;
  std::string_view device, stack;
  std::uint64_t m, n, k;
};
constexpr Part kParts[] = {
    {Task::copy, "cuda", "gpuready", 8192, 8192, 1},
    {Task::copy, "vulkan", "gpuready", 4096, 4096, 1},
    {Task::copy, "cpu", "gpuready", 4096, 4096, 1},
    {Task::gemm, "cuda", "gpuready_cublaslt", 4096, 4096, 4096},
    {Task::gemm, "cuda", "gpuready", 2048, 2048, 2048},  // no fast ones, from here on
    {Task::gemm, "vulkan", "gpuready", 256, 256, 256},
    {Task::gemm, "cpu", "gpuready", 256, 256, 256},
};

Request request_of(const Part& part, const Request& run) {
  Request request;
  request.task = part.task;
  request.device = run.device;
  request.dtype = run.dtype;
  request.m = part.m;
  request.n = part.n;
  request.k = part.k;
  request.iters = 20;
  request.warmup = 5;
  request.cold_samples = 0;
  request.max_seconds = std::min(run.max_seconds, kMostSeconds);
  return request;
}

// Always our own, whatever a variable says.
StackResult result_of(const Part& part, const Request& request, const std::string& program,
                      const SessionOptions& options) {
  const std::vector<std::string> ids = {std::string(part.stack)};
  const auto stacks =
      stack_commands(ids, [](const std::string&) { return std::nullopt; }, program, "");
  const auto expected = reference_digests(request, count_of_affinity());
  return results_of(*stacks, run_session(*stacks, request, expected, options)).front();
}

}  // namespace

MeasuredRoofline measure_roofline(const Request& request, const std::string& program,
                                  SessionOptions options) {
  options.repeats = kRepeats;
  MeasuredRoofline measured;
  for (const Task task : {Task::copy, Task::gemm}) {
    const std::string_view unit = task == Task::copy ? "bandwidth" : "FLOPs";
    auto& ceiling =
        task == Task::copy ? measured.roofline.bytes_per_s : measured.roofline.flops_per_s;
    for (const Part& part : kParts) {
      if (ceiling || part.task != task || part.device != request.device) continue;
      const Request work = request_of(part, request);
      const auto result = result_of(part, work, program, options);
      const auto ns = result.status == StackStatus::ok ? latency_of(result).p50_ns : std::nullopt;
      if (!ns) {
        measured.notes.push_back(
            fmt::format("The roofline has no {} of {}: {}", unit, part.stack, result.reason));
        continue;
      }
      const auto amount = task == Task::copy ? workload_of(work).bytes : workload_of(work).flops;
      ceiling = static_cast<double>(*amount) / *ns * 1e9;
    }
  }
  return measured;
}

}  // namespace gpuready::bench
