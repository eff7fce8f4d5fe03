#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/clock.h"
#include "base/statistics.h"
#include "bench/native/native_stack.h"
#include "bench/record/startup.h"

namespace gpuready::bench {
namespace {

constexpr std::uint64_t kP95Samples = 200;
constexpr double kLeastRestMs = 1000, kMostRestMs = 5000;  // adapters/gpuready_bench.py says why

struct Timing {
  std::vector<double> hot_ms, at_ms, cold_ms;
  std::uint64_t warmup_iterations = 0, iterations_per_sample = 1;
  bool steady = false;
  double first_step_ms = 0;
  std::string stopped_by;
};

double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = gpuready::mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}
std::uint64_t at_least_one(double value) {
  return static_cast<std::uint64_t>(std::clamp(value, 1.0, 1e6));
}

// As much as was asked for, then until it is steady.
Result<double> warm_up(const Request& request, NativeStack& stack, Timing& timing) {
  const auto began = Clock::now();
  std::uint64_t count = 1;
  Steadiness steadiness;
  while (true) {
    const auto samples = TRY(stack.block(timing.iterations_per_sample, count));
    timing.warmup_iterations += timing.iterations_per_sample * (count + 1);
    const double mean = std::max(gpuready::mean(samples), 1e-6);
    if (!request.single_iterations)
      timing.iterations_per_sample = at_least_one(std::ceil(stack.facts.least_sample_ms / mean));
    const double sample_ms = mean * static_cast<double>(timing.iterations_per_sample);
    count = std::min<std::uint64_t>(10, at_least_one(250 / sample_ms));
    timing.steady = steadiness.after(mean);
    if (timing.warmup_iterations >= request.warmup &&
        (timing.steady || elapsed_ms(began) > request.max_seconds * 500))
      return mean;
  }
}

// The rules of docs/bench.md, "When a repeat stops".
Result<void> take_hot_samples(const Request& request, NativeStack& stack, double mean,
                              Timing& timing) {
  const auto began = Clock::now();
  const auto iterations = static_cast<double>(timing.iterations_per_sample);
  const std::uint64_t size =
      std::min<std::uint64_t>(request.iters, at_least_one(500 / (mean * iterations)));
  std::vector<double> noise;
  while (true) {
    const auto samples = TRY(stack.block(timing.iterations_per_sample, size));
    timing.hot_ms.insert(timing.hot_ms.end(), samples.begin(), samples.end());
    timing.at_ms.resize(timing.hot_ms.size(), monotonic_ms());
    const auto count = static_cast<double>(timing.hot_ms.size());
    const double now = gpuready::mean(timing.hot_ms);
    noise.push_back(deviation_of(timing.hot_ms) / now);
    const auto stop = [&](const char* why) { timing.stopped_by = why; };
    if (elapsed_ms(began) > request.max_seconds * 1000) return stop("time_limit"), Result<void>();
    const bool more_for_p95 =
        count < kP95Samples && (kP95Samples - count) * now * iterations < 1000;
    if (count < static_cast<double>(request.iters) || more_for_p95) continue;
    if (noise.back() / std::sqrt(count) <= 0.005) return stop("relative_error"), Result<void>();
    if (noise.size() >= 4) {
      const auto [least, most] = std::minmax_element(noise.end() - 4, noise.end());
      if (*most <= 1.05 * *least) return stop("plateau"), Result<void>();
    }
  }
}

Result<Timing> measure(const Request& request, NativeStack& stack, const SayStep& say) {
  Timing timing;
  say("first run");
  const auto start = Clock::now();
  TRY(stack.block(1, 1));
  timing.first_step_ms = elapsed_ms(start);
  if (request.device == "cuda") {
    say("rest");
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(
        std::clamp(stack.facts.compile_ms.value_or(0), kLeastRestMs, kMostRestMs)));
  }
  say("warm-up");
  const double mean = TRY(warm_up(request, stack, timing));
  say("hot samples");
  TRY(take_hot_samples(request, stack, mean, timing));
  if (request.cold_samples > 0) say("cold samples");
  for (std::uint64_t i = 0; i < request.cold_samples; ++i)
    timing.cold_ms.push_back(TRY(stack.cold_sample_ms()));
  return timing;
}

Json digest_json(const Request& request, const std::vector<double>& digest) {
  Json doc;
  doc["y"] = std::vector<double>(digest.begin(), digest.begin() + 3);
  if (request.task != Task::mlp) return doc;
  doc["activation"] = digest[3];
  doc["z"] = std::vector<double>(digest.begin() + 4, digest.begin() + 6);
  doc["mean"] = digest[6];
  return doc;
}

std::uint64_t host_peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

Result<Json> measured(std::string_view id, const Request& request, const SayStep& say) {
  const auto begun = Clock::now();
  const auto stack = TRY(open_native_stack(id, request));
  const double build_ms = elapsed_ms(begun);
  const Timing timing = TRY(measure(request, *stack, say));
  say("digest");
  const auto outputs = TRY(stack->outputs());
  const auto digest = digest_of(request, outputs);
  for (const double value : digest)
    if (!std::isfinite(value))
      return fail(ErrorKind::not_finite, "the output holds NaN or infinities");

  const Workload work = workload_of(request);
  Json doc;
  doc["protocol"] = kBenchProtocol;
  doc["status"] = "ok";
  doc["backend"] = id;
  doc["mode"] = stack->facts.mode;
  doc["reference"] = stack->facts.reference;
  doc["device"] = request.device;
  put(doc, "device_name", stack->facts.device_name);
  doc["task"] = to_string(request.task);
  doc["dtype"] = to_string(request.dtype);
  doc["shape"] = work.shape;
  doc["batch"] = request.batch;
  doc["hidden"] = request.hidden;
  doc["iters"] = request.iters;
  doc["warmup"] = request.warmup;
  doc["flops"] = *work.flops;
  doc["digest"] = digest_json(request, digest);
  const double mean = gpuready::mean(timing.hot_ms);
  const auto at = [&](double p) { return *percentile(timing.hot_ms, p); };
  doc["latency_ms"] = {
      {"mean", mean}, {"p50", at(0.5)}, {"p95", at(0.95)}, {"min", at(0)}, {"max", at(1)}};
  doc["throughput_tokens_per_sec"] = static_cast<double>(*work.elements) / mean * 1000;
  doc["peak_memory_bytes"] = stack->facts.peak_memory_bytes.value_or(host_peak_bytes());
  doc["startup_ms"] =
      startup_json(build_ms, stack->facts.compile_ms, timing.first_step_ms, at(0.5));
  doc["timer"] = stack->facts.timer;
  doc["warmup_iterations"] = timing.warmup_iterations;
  doc["warmup_steady"] = timing.steady;
  doc["iterations_per_sample"] = timing.iterations_per_sample;
  doc["stopped_by"] = timing.stopped_by;
  doc["versions"] = stack->facts.versions;
  if (!stack->facts.notes.empty()) doc["notes"] = stack->facts.notes;
  doc["samples_ms"] = timing.hot_ms;
  doc["samples_at_ms"] = timing.at_ms;
  if (!timing.cold_ms.empty()) doc["cold_ms"] = timing.cold_ms;
  return doc;
}

}  // namespace

Result<std::unique_ptr<NativeStack>> open_native_stack(std::string_view id,
                                                       const Request& request) {
  const bool tuned = id == "gpuready_cublaslt";
  if (tuned && request.device != "cuda")
    return fail(ErrorKind::unsupported,
                fmt::format("cuBLASLt runs on cuda, not on {}", request.device));
  if (!tuned && request.task == Task::ternary) return open_ternary_stack(request);
  return request.device == "cpu" ? open_cpu_stack(request) : open_dense_stack(request, tuned);
}

NativeAnswer answer_natively(std::string_view id, const Result<Request>& request,
                             const SayStep& say) {
  auto doc = request ? measured(id, *request, say) : std::unexpected(request.error());
  if (doc) return {std::move(*doc), 0};
  const ErrorKind kind = doc.error().kind;
  const bool missing = kind == ErrorKind::not_found || kind == ErrorKind::no_device ||
                       kind == ErrorKind::unsupported;
  Json answer;
  answer["protocol"] = kBenchProtocol;
  answer["status"] = missing ? "unavailable" : "error";
  answer["backend"] = id;
  answer[missing ? "reason" : "error"] = doc.error().message;
  if (kind == ErrorKind::unsupported) answer["supported"] = false;
  return {std::move(answer), missing ? 0 : 1};
}

}  // namespace gpuready::bench
