#include "health/second_look.h"

#include <fmt/format.h>

#include <algorithm>

#include "health/clock_events.h"
#include "health/clocks.h"
#include "health/compute/clock_tally.h"
#include "health/plan/survey.h"
#include "value/about.h"

namespace gpuready {
namespace {

// A share that passes up to its threshold, as those of the clocks.
std::optional<double> share_above(const Verdict& verdict, std::string_view name) {
  for (const Metric& metric : verdict.metrics)
    if (metric.name == name && metric.threshold && metric.value > *metric.threshold)
      return metric.value;
  return std::nullopt;
}

// What is wrong is a figure, and of those that another's work lowers.
bool is_slow(const Verdict& verdict) {
  if (verdict.test == kClocksTest)
    return share_above(verdict, kSlowShare) && !share_above(verdict, kHardwareShare);
  return std::ranges::any_of(verdict.metrics, [](const Metric& metric) {
    return metric.threshold && metric.value < *metric.threshold;
  });
}

// Why one of the GPUs that it is about is busy.
std::optional<std::string> busy_now(const Machine& now, const Verdict& verdict) {
  for (const Gpu& gpu : now.gpus)
    if (is_about(verdict, gpu))
      if (auto why = why_busy(gpu)) return fmt::format("GPU {} is {}", gpu.index, *why);
  return std::nullopt;
}

void excuse(Verdict& verdict, const std::string& why) {
  constexpr std::string_view kExcused = "busy ";
  if (verdict.reason.starts_with(kExcused)) return;
  verdict.status = VerdictStatus::inconclusive;
  verdict.reason = fmt::format("{}{}. Not judged: {}", kExcused, why, verdict.reason);
}

// When the judged test ran. The clocks have no time of their own: all tests that load the GPU. If
// nothing is judged: all its tests.
std::vector<TimeSpan> spans_of(const Gpu& gpu, const Verdict* judged,
                               const std::vector<Verdict>& verdicts) {
  if (judged && judged->started_ms) return {time_of(*judged)};
  std::vector<TimeSpan> spans;
  for (const Verdict& verdict : verdicts)
    if (verdict.started_ms && is_about(verdict, gpu) && (!judged || loads_every_sm(verdict)))
      spans.push_back(time_of(verdict));
  return spans;
}

// How many processes computed on it. Each MIG instance has a worker of ours: then that says
// nothing.
const SampleSeries* processes_on(const Gpu& gpu, const Samples& samples) {
  return gpu.mig.empty() ? samples.find(gpu.index, "processes") : nullptr;
}

struct Shared {
  TimeSpan time;
  double share = 0;  // of the samples
};

// When others used the GPU in these spans, if for long enough.
std::optional<Shared> shared_time(const SampleSeries& processes,
                                  const std::vector<TimeSpan>& spans) {
  constexpr double kOwn = 1;  // one worker tests a GPU at a time
  constexpr std::size_t kLeastSamples = 2;
  constexpr double kLeastShare = 0.1;
  std::vector<double> times;
  std::size_t all = 0;
  for (std::size_t i = 0; i < processes.t_ms.size(); ++i) {
    const double t_ms = processes.t_ms[i];
    if (!is_within(spans, t_ms)) continue;
    ++all;
    if (processes.value[i] > kOwn) times.push_back(t_ms);
  }
  if (times.size() < kLeastSamples) return std::nullopt;
  const double share = static_cast<double>(times.size()) / static_cast<double>(all);
  if (share < kLeastShare) return std::nullopt;
  return Shared{{times.front(), times.back()}, share};
}

// Others excuse no more than they can have caused.
bool explains(const Shared& shared, const Verdict& verdict) {
  const auto slow = share_above(verdict, kSlowShare);
  return !slow || *slow <= shared.share + kMostSlowShare;
}

}  // namespace

bool may_be_others_work(const Verdict& verdict) {
  using enum VerdictStatus;
  const bool slow = is_slow(verdict) && (verdict.status == failed || verdict.test == kClocksTest);
  const bool wrong = slow || verdict.status == inconclusive || verdict.status == timed_out;
  return wrong && verdict.bad_words_total == 0 && verdict.mismatches_total == 0 &&
         !verdict.error_code && !verdict.injected_fault;
}

bool others_use_what_failed(const Machine& now, const std::vector<Verdict>& verdicts) {
  return std::ranges::any_of(verdicts, [&](const Verdict& verdict) {
    return may_be_others_work(verdict) && busy_now(now, verdict);
  });
}

void excuse_busy(const Machine& now, double seen_ms, std::vector<Verdict>& verdicts) {
  for (Verdict& verdict : verdicts) {
    const auto why = may_be_others_work(verdict) ? busy_now(now, verdict) : std::nullopt;
    if (!why) continue;
    excuse(verdict,
           fmt::format("since {:.1f} s after the run began, or before: {}", seen_ms / 1e3, *why));
  }
}

void excuse_shared(const Machine& machine, const Samples& samples, std::vector<Verdict>& verdicts) {
  for (const Gpu& gpu : machine.gpus) {
    const SampleSeries* processes = processes_on(gpu, samples);
    if (!processes) continue;
    for (Verdict& verdict : verdicts) {
      if (!is_about(verdict, gpu) || !may_be_others_work(verdict)) continue;
      const auto shared = shared_time(*processes, spans_of(gpu, &verdict, verdicts));
      if (shared && explains(*shared, verdict))
        excuse(verdict,
               fmt::format("from {:.1f} s to {:.1f} s after the run began: NVML counted "
                           "other processes on GPU {}",
                           shared->time.from_ms / 1e3, shared->time.to_ms / 1e3, gpu.index));
    }
  }
}

std::vector<int> shared_gpus(const Machine& machine, const Samples& samples,
                             const std::vector<Verdict>& verdicts) {
  std::vector<int> shared;
  for (const Gpu& gpu : machine.gpus)
    if (const SampleSeries* processes = processes_on(gpu, samples);
        processes && shared_time(*processes, spans_of(gpu, nullptr, verdicts)))
      shared.push_back(gpu.index);
  return shared;
}

}  // namespace gpuready
