#include "health/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/statistics.h"
#include "base/text.h"
#include "base/units.h"
#include "health/clock_events.h"
#include "health/compute/test_compute.h"
#include "value/about.h"

namespace gpuready {
namespace {

constexpr double kLeastClockShare = 0.6;
constexpr double kMostHardwareShare = 0.1, kExplainingShare = 0.1;  // of the loaded time
constexpr double kRampMs = 300;                                     // of each test, not counted
constexpr std::size_t kLeastSamples = 5;
// Tests that keep every SM busy; what copies only does not.
constexpr std::array<std::string_view, 3> kLoadingTests = {"memory", "compute", "tensor"};
// By the SMs' own count over what NVML tells. A launch has little beside the kernel; the rest is
// margin for clocks that change between two samples.
constexpr double kLeastCountedShare = 0.75;

std::vector<TimeSpan> loaded_spans(const Gpu& gpu, const std::vector<Verdict>& verdicts) {
  std::vector<TimeSpan> spans;
  for (const Verdict& verdict : verdicts)
    if (verdict.started_ms && is_about(verdict, gpu) &&
        std::ranges::find(kLoadingTests, verdict.test) != kLoadingTests.end())
      spans.push_back(time_of(verdict, kRampMs));
  return spans;
}

// What held the clocks back for the largest share of the loaded time.
struct Held {
  std::string_view name;
  double share = 0;
};
Held most_frequent(const Samples& samples, int gpu, ClockEvent::By by,
                   const std::vector<TimeSpan>& spans) {
  Held most;
  for (const ClockEvent& event : clock_events()) {
    const SampleSeries* series = samples.find(gpu, event.series);
    if (event.by != by || !series) continue;
    if (const double share = mean(values_within(*series, spans)); share > most.share)
      most = {event.name, share};
  }
  return most;
}

double upper_quartile(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 3 / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

std::string clause(const Held& held) {
  return fmt::format("{} during {} of the load", held.name, format_percent(held.share, 0));
}

// The clock that the SMs counted themselves in a test of this GPU, and what NVML told of it then.
struct Counted {
  double mhz, told_mhz;
};
std::optional<Counted> counted_clock(const Gpu& gpu, const SampleSeries& clock,
                                     const std::vector<Verdict>& verdicts) {
  for (const Verdict& verdict : verdicts) {
    if (!verdict.started_ms || verdict.injected_fault || !is_about(verdict, gpu)) continue;
    const TimeSpan span = time_of(verdict, kRampMs);
    auto told = values_within(clock, {&span, 1});
    for (const Metric& metric : verdict.metrics)
      if (metric.name == kMeasuredClock && told.size() >= kLeastSamples && median(told) > 0)
        return Counted{metric.value, median(std::move(told))};
  }
  return std::nullopt;
}

std::optional<Verdict> judge(const Gpu& gpu, const Samples& samples,
                             const std::vector<Verdict>& verdicts) {
  const auto spans = loaded_spans(gpu, verdicts);
  const SampleSeries* clock = samples.find(gpu.index, "sm_clock");
  if (!clock || spans.empty() || !gpu.clocks.max_sm_mhz || *gpu.clocks.max_sm_mhz <= 0)
    return std::nullopt;
  const auto values = values_within(*clock, spans);
  if (values.size() < kLeastSamples) return std::nullopt;

  const double reached = upper_quartile(values), allowed = *gpu.clocks.max_sm_mhz;
  using enum ClockEvent::By;
  const Held held_by_hardware = most_frequent(samples, gpu.index, hardware, spans);
  const Held held_by_setting = most_frequent(samples, gpu.index, setting, spans);
  const auto counted = counted_clock(gpu, *clock, verdicts);
  Verdict verdict;
  verdict.test = "clocks";
  verdict.subject = fmt::format("GPU {}", gpu.index);
  verdict.uuid = gpu.uuid;
  if (gpu.pci) verdict.pci_address = gpu.pci->text();
  verdict.status = VerdictStatus::passed;
  verdict.reason = fmt::format("{:.0f} of {:.0f} MHz while loaded", reached, allowed);
  const bool explained = held_by_setting.share >= kExplainingShare;
  verdict.metrics.push_back(
      {"sm_clock_to_allowed", reached / allowed, "1",
       explained ? std::nullopt : std::optional(kLeastClockShare),
       explained ? std::nullopt : std::optional<std::string>("NVML's greatest SM clock")});
  if (counted)
    verdict.metrics.push_back({"sm_clock_counted_to_told", counted->mhz / counted->told_mhz, "1",
                               kLeastCountedShare, "the clock that NVML reported meanwhile"});
  if (counted && counted->mhz < kLeastCountedShare * counted->told_mhz) {
    verdict.status = VerdictStatus::failed;
    verdict.reason += fmt::format(
        ", as NVML reports; but the SMs counted {:.0f} million cycles a second while it reported "
        "{:.0f} MHz",
        counted->mhz, counted->told_mhz);
  } else if (held_by_hardware.share >= kMostHardwareShare) {
    verdict.status = VerdictStatus::failed;
    verdict.reason +=
        ": " + clause(held_by_hardware) + "; check cooling, power supply and power cables";
  } else if (explained) {
    verdict.reason += ": " + clause(held_by_setting);
  } else if (reached < kLeastClockShare * allowed) {
    verdict.status = VerdictStatus::failed;
    verdict.reason += fmt::format(", and NVML names no cause; at least {} is expected",
                                  format_percent(kLeastClockShare, 0));
  }
  return verdict;
}

}  // namespace

std::vector<Verdict> judge_clocks(const Machine& machine, const Samples& samples,
                                  const std::vector<Verdict>& verdicts) {
  std::vector<Verdict> judged;
  for (const Gpu& gpu : machine.gpus)
    if (auto verdict = judge(gpu, samples, verdicts)) judged.push_back(std::move(*verdict));
  return judged;
}

}  // namespace gpuready
