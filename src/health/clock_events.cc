#include "health/clock_events.h"

#include <algorithm>

namespace gpuready {
namespace {

using By = ClockEvent::By;

constexpr ClockEvent kEvents[] = {
    {"clock_event_hw_thermal_slowdown", "HW thermal slowdown", "gpu_temperature", By::hardware},
    {"clock_event_sw_thermal_slowdown", "SW thermal slowdown", "gpu_temperature", By::software},
    {"clock_event_hw_power_brake", "HW power brake", "power", By::hardware},
    {"clock_event_hw_slowdown", "HW slowdown", "", By::hardware},
    {"clock_event_sw_power_cap", "SW power cap", "power", By::setting},
    {"clock_event_sync_boost", "sync boost", "", By::setting},
    {"clock_event_application_clocks", "application clocks", "sm_clock", By::setting},
    {"clock_event_display_clocks", "display clocks", "", By::setting},
};

}  // namespace

std::span<const ClockEvent> clock_events() { return kEvents; }

std::string_view clock_event_name(std::string_view series) {
  for (const ClockEvent& event : kEvents)
    if (event.series == series) return event.name;
  return {};
}

TimeSpan time_of(const Verdict& verdict, double ramp_ms) {
  const double start = verdict.started_ms.value_or(0);
  return {start + ramp_ms, start + verdict.duration_ms};
}

bool is_within(std::span<const TimeSpan> spans, double t_ms) {
  return std::ranges::any_of(
      spans, [&](const TimeSpan& span) { return t_ms >= span.from_ms && t_ms <= span.to_ms; });
}

std::vector<double> values_within(const SampleSeries& series, std::span<const TimeSpan> spans) {
  std::vector<double> values;
  for (std::size_t i = 0; i < series.t_ms.size(); ++i)
    if (is_within(spans, series.t_ms[i])) values.push_back(series.value[i]);
  return values;
}

}  // namespace gpuready
