#include "health/second_look.h"

#include <fmt/format.h>

#include <algorithm>

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
    verdict.status = VerdictStatus::inconclusive;
    verdict.reason =
        fmt::format("busy since {:.1f} s after the run began, or before: {}. Not judged: {}",
                    seen_ms / 1e3, *why, verdict.reason);
  }
}

}  // namespace gpuready
