// What `bench run` asks of every stack: the workload and how long to time it. Adapters are asked by
// the variables BENCH_* of PyC's suite (batch, hidden, ...) and a few of ours; docs/bench.md states
// the contract and the workloads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/record/run_record.h"

namespace gpuready::bench {

enum class Task { mlp, gemm, attention, copy, ternary };
enum class Dtype { fp32, tf32, bf16, fp16 };

std::string_view to_string(Task task);
std::string_view to_string(Dtype dtype);
std::optional<Task> task_from(std::string_view text);
std::optional<Dtype> dtype_from(std::string_view text);  // by any of its names
std::vector<std::string> dtype_names();  // all that dtype_from() takes, the record's own first
Dtype default_dtype(std::string_view device);  // fp16 on cuda, fp32 elsewhere
unsigned bytes_of(Dtype dtype);

// Of a tensor, and of a size.
inline constexpr std::uint64_t kMostElements = 1ull << 31;
inline constexpr unsigned kHeadElements = 64;  // of an attention head
inline constexpr std::string_view kBenchProtocol = "gpuready.bench/1";

// Zero of a size: the default of the task.
struct Request {
  Task task = Task::mlp;
  Dtype dtype = Dtype::fp32;
  std::string device = "cpu";  // cuda, cpu, vulkan
  std::uint64_t batch = 64, hidden = 2048;
  std::uint64_t m = 0, n = 0, k = 0;
  std::uint64_t iters = 80, warmup = 20;
  std::uint64_t seed = 1;  // of the inputs
  std::uint64_t cold_samples = 20;
  double max_seconds = 10;  // of timing in one process
  // Another suite asks, to which a sample is the time of one iteration; ours takes means of
  // several.
  bool single_iterations = false;

  std::uint64_t heads() const { return hidden / kHeadElements; }
};

// Fills in what was left to the task. Refuses sizes that make no workload, or one too large to be
// checked: more than 2^31 elements in a tensor, rows longer than 32768 in mlp.
Result<Request> complete(Request request);

// The request by what a command line names: a task, a device and a dtype, the last two empty for
// those of a machine that has a GPU for CUDA or has not.
Result<Request> request_of(Request sizes, std::string_view task, std::string_view device,
                           std::string_view dtype, bool has_gpu);

// The record's description: shape, rows, elements, FLOPs and bytes of one iteration.
Workload workload_of(const Request& request);

// As variables, and back. `get` gives the value of a variable of that name.
std::vector<std::pair<std::string, std::string>> variables_of(const Request& request);
using GetVariable = std::function<std::optional<std::string>(const std::string&)>;
Result<Request> request_from(const GetVariable& get);

}  // namespace gpuready::bench
