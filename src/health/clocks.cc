#include "health/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "base/units.h"
#include "health/throttle.h"

namespace gpuready {
namespace {

constexpr double kLeastClockShare = 0.6;
constexpr double kMostHardwareShare = 0.1, kExplainingShare = 0.1;  // of the loaded time
constexpr double kRampMs = 300;                                     // of each test, not counted
constexpr std::size_t kLeastSamples = 5;
// Tests that keep every SM busy; what copies only does not.
constexpr std::array<std::string_view, 3> kLoadingTests = {"memory", "compute", "tensor"};
constexpr std::array<std::string_view, 3> kHardwareEvents = {
    "clock_event_hw_thermal_slowdown", "clock_event_hw_power_brake", "clock_event_hw_slowdown"};
// Somebody chose these, or the power limit does.
constexpr std::array<std::string_view, 4> kSettings = {
    "clock_event_sw_power_cap", "clock_event_application_clocks", "clock_event_sync_boost",
    "clock_event_display_clocks"};

struct Span {
  double from_ms, to_ms;
};

bool is_about(const Verdict& verdict, const Gpu& gpu) {
  return (gpu.uuid && verdict.uuid == gpu.uuid) ||
         (gpu.pci && verdict.pci_address == gpu.pci->text());
}

std::vector<Span> loaded_spans(const Gpu& gpu, const std::vector<Verdict>& verdicts) {
  std::vector<Span> spans;
  for (const Verdict& verdict : verdicts)
    if (verdict.started_ms && is_about(verdict, gpu) &&
        std::ranges::find(kLoadingTests, verdict.test) != kLoadingTests.end())
      spans.push_back({*verdict.started_ms + kRampMs, *verdict.started_ms + verdict.duration_ms});
  return spans;
}

std::vector<double> values_within(const SampleSeries& series, const std::vector<Span>& spans) {
  std::vector<double> values;
  for (std::size_t i = 0; i < series.t_ms.size(); ++i)
    if (std::ranges::any_of(spans, [&](const Span& span) {
          return series.t_ms[i] >= span.from_ms && series.t_ms[i] <= span.to_ms;
        }))
      values.push_back(series.value[i]);
  return values;
}

// The share of the loaded time in which the event held the clocks back.
double share_of(const Samples& samples, int gpu, std::string_view event,
                const std::vector<Span>& spans) {
  const SampleSeries* series = samples.find(gpu, event);
  if (!series) return 0;
  const auto values = values_within(*series, spans);
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

struct Event {
  std::string_view series;
  double share = 0;
};
template <std::size_t N>
Event most_frequent(const Samples& samples, int gpu, const std::array<std::string_view, N>& events,
                    const std::vector<Span>& spans) {
  Event most;
  for (const auto event : events)
    if (const double share = share_of(samples, gpu, event, spans); share > most.share)
      most = {event, share};
  return most;
}

double upper_quartile(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 3 / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

std::string clause(const Event& event) {
  return fmt::format("{} during {} of the load", clock_event_name(event.series),
                     format_percent(event.share, 0));
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
  const Event hardware = most_frequent(samples, gpu.index, kHardwareEvents, spans);
  const Event setting = most_frequent(samples, gpu.index, kSettings, spans);
  Verdict verdict;
  verdict.test = "clocks";
  verdict.subject = fmt::format("GPU {}", gpu.index);
  verdict.uuid = gpu.uuid;
  if (gpu.pci) verdict.pci_address = gpu.pci->text();
  verdict.status = VerdictStatus::passed;
  verdict.reason = fmt::format("{:.0f} of {:.0f} MHz while loaded", reached, allowed);
  const bool explained = setting.share >= kExplainingShare;
  verdict.metrics.push_back(
      {"sm_clock_to_allowed", reached / allowed, "1",
       explained ? std::nullopt : std::optional(kLeastClockShare),
       explained ? std::nullopt : std::optional<std::string>("NVML's greatest SM clock")});
  if (hardware.share >= kMostHardwareShare) {
    verdict.status = VerdictStatus::failed;
    verdict.reason += ": " + clause(hardware) + "; check cooling, power supply and power cables";
  } else if (explained) {
    verdict.reason += ": " + clause(setting);
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
