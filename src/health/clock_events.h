// What NVML reports about throttled clocks, and the samples of a time.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "gpuready/samples.h"
#include "gpuready/verdict.h"

namespace gpuready {

struct ClockEvent {
  enum class By { hardware, software, setting };  // setting: somebody chose it, or the power limit
  std::string_view series, name;                  // "clock_event_hw_slowdown", "HW slowdown"
  std::string_view beside;  // the series whose highest value belongs to the cause
  By by;
};
std::span<const ClockEvent> clock_events();

// For people: "HW thermal slowdown" for "clock_event_hw_thermal_slowdown"; empty for what is no
// such series.
std::string_view clock_event_name(std::string_view series);

struct TimeSpan {
  double from_ms, to_ms;
};
// Of a test that ran, without its first `ramp_ms`.
TimeSpan time_of(const Verdict& verdict, double ramp_ms = 0);
bool is_within(std::span<const TimeSpan> spans, double t_ms);
std::vector<double> values_within(const SampleSeries& series, std::span<const TimeSpan> spans);

}  // namespace gpuready
