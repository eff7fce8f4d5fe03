#include "health/second_look.h"

#include <fmt/format.h>

#include <algorithm>

#include "health/clock_events.h"
#include "health/clocks.h"
#include "health/plan/survey.h"
#include "value/about.h"

namespace gpuready {
namespace {

bool is_slow(const Verdict& verdict) {
  return std::ranges::any_of(verdict.metrics, [](const Metric& metric) {
    return metric.name == kSlowShare && metric.threshold && metric.value > *metric.threshold;
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
  verdict.status = VerdictStatus::inconclusive;
  verdict.reason = fmt::format("busy {}. Not judged: {}", why, verdict.reason);
}

// When others used the GPU during this test; of a verdict over the whole run, during any.
std::optional<TimeSpan> shared_time(const SampleSeries& processes, const Verdict& verdict) {
  constexpr double kOwn = 1;  // one worker tests a GPU at a time
  constexpr std::size_t kLeastSamples = 2;
  std::vector<double> times;
  for (std::size_t i = 0; i < processes.t_ms.size(); ++i) {
    const double t = processes.t_ms[i];
    if (processes.value[i] <= kOwn) continue;
    if (verdict.started_ms && (t < time_of(verdict).from_ms || t > time_of(verdict).to_ms))
      continue;
    times.push_back(t);
  }
  if (times.size() < kLeastSamples) return std::nullopt;
  return TimeSpan{times.front(), times.back()};
}

}  // namespace

bool may_be_others_work(const Verdict& verdict) {
  using enum VerdictStatus;
  const bool wrong = verdict.status == failed || verdict.status == inconclusive ||
                     verdict.status == timed_out || is_slow(verdict);
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
    const SampleSeries* processes = samples.find(gpu.index, "processes");
    if (!processes || !gpu.mig.empty()) continue;  // each instance has a worker
    for (Verdict& verdict : verdicts) {
      if (!is_about(verdict, gpu) || !may_be_others_work(verdict)) continue;
      if (const auto time = shared_time(*processes, verdict))
        excuse(verdict, fmt::format("from {:.1f} s to {:.1f} s after the run began: NVML counted "
                                    "other processes on GPU {}",
                                    time->from_ms / 1e3, time->to_ms / 1e3, gpu.index));
    }
  }
}

}  // namespace gpuready
