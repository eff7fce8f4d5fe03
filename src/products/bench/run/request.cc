#include "bench/run/request.h"

#include <fmt/format.h>

#include "base/named.h"
#include "base/text.h"

namespace gpuready {

NAMES_OF(bench::Task, "mlp", "gemm", "attention", "copy", "ternary");
NAMES_OF(bench::Dtype, "fp32", "tf32", "bf16", "fp16");

namespace bench {
namespace {

// Names beside the record's own: of frameworks, and of PyC's suite and its adapters. The first of a
// dtype is the one that adapters are given. adapters/gpuready_bench.py has the same.
constexpr std::pair<std::string_view, Dtype> kOtherNames[] = {
    {"float32", Dtype::fp32}, {"f32", Dtype::fp32}, {"float", Dtype::fp32},
    {"float16", Dtype::fp16}, {"f16", Dtype::fp16}, {"half", Dtype::fp16},
    {"bfloat16", Dtype::bf16}};

std::string_view adapters_name(Dtype dtype) {
  for (const auto& [name, known] : kOtherNames)
    if (known == dtype) return name;
  return name_of(dtype);
}

// Products of this many inputs still have exact sums in 32 bits (reference.cc).
constexpr std::uint64_t kLongestRow = 32'768;

// A number of the request and its variable.
struct Number {
  const char* variable;
  std::uint64_t Request::* member;
  std::uint64_t least;
};
constexpr Number kNumbers[] = {
    {"BENCH_BATCH", &Request::batch, 1},
    {"BENCH_HIDDEN", &Request::hidden, 1},
    {"BENCH_ITERS", &Request::iters, 1},
    {"BENCH_WARMUP", &Request::warmup, 0},
    {"BENCH_M", &Request::m, 1},
    {"BENCH_K", &Request::k, 1},
    {"BENCH_N", &Request::n, 1},
    {"BENCH_SEED", &Request::seed, 0},
    {"BENCH_COLD", &Request::cold_samples, 0},
};

using Sizes = std::vector<std::pair<const char*, std::uint64_t>>;

// The sizes by which the task is known, in the record's shape.
Sizes shape_of(const Request& r) {
  switch (r.task) {
    case Task::mlp:
      return {{"batch", r.batch}, {"hidden", r.hidden}};
    case Task::attention:
      return {{"batch", r.batch}, {"hidden", r.hidden}, {"m", r.m}};
    case Task::copy:
      return {{"m", r.m}, {"n", r.n}};
    case Task::gemm:
    case Task::ternary:
      break;
  }
  return {{"m", r.m}, {"n", r.n}, {"k", r.k}};
}

// Elements of every tensor that one iteration reads or writes.
std::vector<double> tensors_of(const Request& r) {
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  const double b = number(r.batch), h = number(r.hidden);
  const double m = number(r.m), n = number(r.n), k = number(r.k);
  switch (r.task) {
    case Task::mlp:
      return {b * h, 4 * h * h, 4 * h, 4 * h * h, h, b * h, b * b};
    case Task::attention:
      return {b * m * h, b * m * h, b * m * h, b * m * h};
    case Task::copy:
      return {m * n, m * n};
    case Task::gemm:
    case Task::ternary:
      break;
  }
  return {m * k, k * n, m * n};
}

std::uint64_t flops_of(const Request& r) {
  switch (r.task) {
    case Task::mlp:
      return 16 * r.batch * r.hidden * r.hidden + 2 * r.batch * r.batch * r.hidden;
    case Task::attention:
      return 4 * r.batch * r.hidden * r.m * r.m;
    case Task::copy:
      return 0;
    case Task::gemm:
    case Task::ternary:
      break;
  }
  return 2 * r.m * r.n * r.k;
}

}  // namespace

std::string_view to_string(Task task) { return name_of(task); }
std::string_view to_string(Dtype dtype) { return name_of(dtype); }

std::optional<Task> task_from(std::string_view text) { return named<Task>(text); }

std::optional<Dtype> dtype_from(std::string_view text) {
  if (const auto dtype = named<Dtype>(text)) return dtype;
  for (const auto& [name, dtype] : kOtherNames)
    if (name == text) return dtype;
  return std::nullopt;
}
std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const auto& entry : kNames<Dtype>) names.emplace_back(entry.name);
  for (const auto& [name, dtype] : kOtherNames) names.emplace_back(name);
  return names;
}

Dtype default_dtype(std::string_view device) {
  return device == "cuda" ? Dtype::fp16 : Dtype::fp32;
}
unsigned bytes_of(Dtype dtype) { return dtype == Dtype::bf16 || dtype == Dtype::fp16 ? 2 : 4; }

Result<Request> complete(Request r) {
  const auto or_default = [](std::uint64_t& size, std::uint64_t value) {
    if (size == 0) size = value;
  };
  or_default(r.m, r.task == Task::attention ? 512 : r.task == Task::copy ? 8192 : r.batch);
  or_default(r.n, r.task == Task::copy ? 8192 : r.hidden);
  or_default(r.k, r.hidden);
  for (const auto& [name, size] : shape_of(r))
    if (size == 0 || size > kMostElements)
      return fail(ErrorKind::bad_input, fmt::format("{} {}: {} takes from 1 to {}", name, size,
                                                    to_string(r.task), kMostElements));
  if (r.task == Task::mlp && r.hidden > kLongestRow / 4)
    return fail(ErrorKind::bad_input,
                fmt::format("hidden {}: mlp takes from 1 to {}", r.hidden, kLongestRow / 4));
  if (r.task == Task::attention && r.hidden % kHeadElements != 0)
    return fail(ErrorKind::bad_input, fmt::format("hidden {}: attention takes a multiple of {}",
                                                  r.hidden, kHeadElements));
  if (r.dtype == Dtype::tf32 && r.device == "cpu")
    return fail(ErrorKind::bad_input, "dtype tf32: a mode of GPUs, which a CPU does not have");
  for (const double elements : tensors_of(r))
    if (elements > static_cast<double>(kMostElements))
      return fail(ErrorKind::too_large,
                  fmt::format("{}: a tensor of {:.0f} elements; at most {} are checked",
                              to_string(r.task), elements, kMostElements));
  return r;
}

Result<Request> request_of(Request sizes, std::string_view task, std::string_view device,
                           std::string_view dtype, bool has_gpu) {
  sizes.task = *task_from(task);
  sizes.device = !device.empty() ? device : has_gpu ? "cuda" : "cpu";
  sizes.dtype = dtype.empty() ? default_dtype(sizes.device) : *dtype_from(dtype);
  return complete(sizes);
}

Workload workload_of(const Request& request) {
  Workload workload;
  workload.name = to_string(request.task);
  for (const auto& [name, size] : shape_of(request)) workload.shape[name] = size;
  workload.dtype = to_string(request.dtype);
  workload.device = request.device;
  const bool batched = request.task == Task::mlp || request.task == Task::attention;
  workload.rows = batched ? request.batch : request.m;
  workload.elements = request.task == Task::mlp         ? request.batch * request.hidden
                      : request.task == Task::attention ? request.batch * request.m * request.hidden
                                                        : request.m * request.n;
  workload.flops = flops_of(request);
  double elements = 0;
  for (const double each : tensors_of(request)) elements += each;
  workload.bytes = static_cast<std::uint64_t>(elements) * bytes_of(request.dtype);
  return workload;
}

std::vector<std::pair<std::string, std::string>> variables_of(const Request& request) {
  std::vector<std::pair<std::string, std::string>> variables = {
      {"BENCH_PROTOCOL", std::string(kBenchProtocol)},
      {"BENCH_TASK", std::string(to_string(request.task))},
      {"BENCH_DEVICE", request.device},
      {"BENCH_DTYPE", std::string(adapters_name(request.dtype))},
      {"BENCH_MAX_SECONDS", fmt::format("{}", request.max_seconds)}};
  for (const Number& number : kNumbers)
    variables.emplace_back(number.variable, std::to_string(request.*number.member));
  return variables;
}

Result<Request> request_from(const GetVariable& get) {
  const auto wrong = [](const std::string& name, const std::string& value,
                        std::string_view wanted) {
    return fail(ErrorKind::bad_input,
                fmt::format("{}={}: expected {}", name, printable(value), wanted));
  };
  Request request;
  request.device = get("BENCH_DEVICE").value_or("cuda");
  if (request.device != "cuda" && request.device != "cpu" && request.device != "vulkan")
    return wrong("BENCH_DEVICE", request.device, "cuda, cpu or vulkan");
  if (const auto text = get("BENCH_TASK")) {
    const auto task = task_from(*text);
    if (!task) return wrong("BENCH_TASK", *text, "mlp, gemm, attention, copy or ternary");
    request.task = *task;
  }
  request.dtype = default_dtype(request.device);
  if (const auto text = get("BENCH_DTYPE")) {
    const auto dtype = dtype_from(*text);
    if (!dtype) return wrong("BENCH_DTYPE", *text, "one of " + join(dtype_names(), ", "));
    request.dtype = *dtype;
  }
  request.single_iterations = !get("BENCH_PROTOCOL");
  for (const Number& number : kNumbers) {
    const auto text = get(number.variable);
    if (!text || text->empty()) continue;
    const auto value = parse_uint(*text);
    if (!value || *value < number.least)
      return wrong(number.variable, *text, fmt::format("a number from {}", number.least));
    request.*number.member = *value;
  }
  if (const auto text = get("BENCH_MAX_SECONDS")) {
    const auto value = parse_double(*text);
    if (!value || *value <= 0) return wrong("BENCH_MAX_SECONDS", *text, "a time above 0");
    request.max_seconds = *value;
  }
  return complete(std::move(request));
}

}  // namespace bench
}  // namespace gpuready
