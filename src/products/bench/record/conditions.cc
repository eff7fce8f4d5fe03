#include "bench/record/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/json.h"
#include "base/text.h"

namespace gpuready::bench {
namespace {

constexpr std::string_view kEvent = "clock_event_";
// A sample counts as throttled when one of these was active at the reading before or after it, or
// between. The power cap is not among them: the workload itself reaches it, and it is reported.
constexpr std::array<std::string_view, 4> kDropping = {
    "clock_event_hw_slowdown", "clock_event_hw_thermal_slowdown", "clock_event_sw_thermal_slowdown",
    "clock_event_hw_power_brake"};
// Bytes of memory that a child holds before it computes are reported by the first reading; a
// reading may be late by this.
constexpr double kReadingMs = 250;
// The driver's power is the mean of up to the last second (NVML, nvmlDeviceGetPowerUsage). A
// reading is the work's from a second of timing on; before, it holds the rest or the compilation.
constexpr double kPowerMeanMs = 1000;
constexpr std::size_t kLeastPowerReadings = 5;
constexpr double kPowerReadingsASecond = 10;
constexpr double kLeastTimedForEnergyS =
    kPowerMeanMs / 1000 + kLeastPowerReadings / kPowerReadingsASecond;

struct Series {
  std::vector<double> t_ms, value;
};
using AllSeries = std::map<std::string, Series>;

bool read_numbers(const Json& list, std::vector<double>& to) {
  if (!list.is_array()) return false;
  for (const Json& item : list) {
    if (!item.is_number()) return false;
    to.push_back(item.get<double>());
  }
  return true;
}

AllSeries series_of(const ProbeDocument& heard, std::string_view uuid) {
  AllSeries all;
  for (const auto& [key, call] : heard.calls) {
    if (!key.starts_with("series(")) continue;
    const Json& doc = call.value;
    if (!uuid.empty() && get_string(doc, "uuid").value_or("") != uuid) continue;
    Series series;
    const auto name = get_string(doc, "name");
    if (!name || !read_numbers(member(doc, "t_ms"), series.t_ms) ||
        !read_numbers(member(doc, "value"), series.value) ||
        series.t_ms.size() != series.value.size())
      continue;
    all.emplace(*name, std::move(series));
  }
  return all;
}

// Where the samples were taken; the whole process where it does not say.
Span sampled_span(const RanRepeat& ran) {
  const auto& at = ran.answer.sampled_at_ms;
  if (at.empty()) return ran.span;
  const auto [first, last] = std::minmax_element(at.begin(), at.end());
  return {std::max(ran.span.begin_ms, *first - kReadingMs), *last};
}

std::optional<double> mean_within(const AllSeries& all, const std::string& name, Span span,
                                  std::size_t least = 1) {
  const auto found = all.find(name);
  if (found == all.end()) return std::nullopt;
  double sum = 0;
  std::size_t count = 0;
  const Series& series = found->second;
  for (std::size_t i = 0; i < series.t_ms.size(); ++i)
    if (series.t_ms[i] >= span.begin_ms && series.t_ms[i] <= span.end_ms)
      sum += series.value[i], ++count;
  return count < least ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

// Power while it was timed, and the energy of an iteration; else why there is none.
void add_energy(const AllSeries& all, RanRepeat& ran) {
  if (!all.contains("power")) return;
  Repeat& repeat = ran.answer.repeat;
  const auto& at = ran.answer.sampled_at_ms;
  if (at.empty()) {
    repeat.no_energy = "the stack does not say when it was timed (samples_at_ms)";
    return;
  }
  const auto [first, last] = std::ranges::minmax(at);
  const auto watts = mean_within(all, "power", {first + kPowerMeanMs, last}, kLeastPowerReadings);
  if (!watts) {
    repeat.no_energy = fmt::format(
        "power is read as the mean of a second, so a repeat must be timed for {:g} s, and was for "
        "{:.1f} s; --iters makes it longer",
        kLeastTimedForEnergyS, (last - first) / 1000);
    return;
  }
  repeat.conditions.power_mw = *watts * 1000;
  if (const auto mean_ns = latency_of(repeat).mean_ns) repeat.energy_mj = *watts * *mean_ns / 1e6;
}

// The reading at this time or the one before, or the one after, is not 0.
bool active_at(const Series& series, double ms) {
  const auto after = std::upper_bound(series.t_ms.begin(), series.t_ms.end(), ms);
  const auto index = static_cast<std::size_t>(after - series.t_ms.begin());
  return (index < series.value.size() && series.value[index] > 0) ||
         (index > 0 && series.value[index - 1] > 0);
}
bool active_within(const Series& series, Span span) {
  if (active_at(series, span.begin_ms) || active_at(series, span.end_ms)) return true;
  for (std::size_t i = 0; i < series.t_ms.size(); ++i)
    if (series.value[i] > 0 && series.t_ms[i] >= span.begin_ms && series.t_ms[i] <= span.end_ms)
      return true;
  return false;
}

void mark_throttled(const AllSeries& all, RanRepeat& ran) {
  Repeat& repeat = ran.answer.repeat;
  for (const std::string_view name : kDropping) {
    const auto found = all.find(std::string(name));
    if (found == all.end()) continue;
    // A block of samples shares one time, its end; it began when the block before ended.
    const auto& at = ran.answer.sampled_at_ms;
    double block_begin = ran.span.begin_ms;
    for (std::size_t i = 0; i < repeat.samples_ns.size(); ++i) {
      if (!at.empty() && i > 0 && at[i] != at[i - 1]) block_begin = at[i - 1];
      const Span span = at.empty() ? ran.span : Span{block_begin, at[i]};
      if (active_within(found->second, span)) repeat.throttled.push_back(i);
    }
  }
  std::ranges::sort(repeat.throttled);
  const auto same = std::ranges::unique(repeat.throttled);
  repeat.throttled.erase(same.begin(), same.end());
}

// More than before this process began, in bytes.
std::optional<std::uint64_t> memory_peak(const AllSeries& all, Span span) {
  const auto found = all.find("memory_used");
  if (found == all.end()) return std::nullopt;
  const Series& series = found->second;
  std::optional<double> before, peak;
  for (std::size_t i = 0; i < series.t_ms.size(); ++i) {
    if (series.t_ms[i] <= span.begin_ms + 20) before = series.value[i];
    if (series.t_ms[i] >= span.begin_ms && series.t_ms[i] <= span.end_ms)
      peak = std::max(peak.value_or(0), series.value[i]);
  }
  if (!before || !peak || *peak < *before) return std::nullopt;
  return static_cast<std::uint64_t>(*peak - *before);
}

void add_to(const AllSeries& all, RanRepeat& ran) {
  Repeat& repeat = ran.answer.repeat;
  const Span span = sampled_span(ran);
  repeat.conditions.sm_mhz = mean_within(all, "sm_clock", span);
  repeat.conditions.memory_mhz = mean_within(all, "memory_clock", span);
  repeat.conditions.gpu_celsius = mean_within(all, "gpu_temperature", span);
  for (const auto& [name, series] : all)
    if (name.starts_with(kEvent) && name != "clock_event_any" && active_within(series, span))
      repeat.conditions.throttle_reasons.push_back(name.substr(kEvent.size()));
  mark_throttled(all, ran);
  repeat.memory_peak_bytes = memory_peak(all, ran.span);
  repeat.memory_seen = repeat.memory_peak_bytes ? "device_used" : "";
  add_energy(all, ran);
  if (!repeat.samples_ns.empty() && repeat.throttled.size() == repeat.samples_ns.size()) {
    repeat.status = StackStatus::no_valid_samples;
    repeat.reason = "all its samples were taken while the GPU was slowed down: " +
                    join(repeat.conditions.throttle_reasons, ", ");
  }
}

}  // namespace

void add_conditions(const ProbeDocument& heard, std::string_view uuid,
                    std::span<RanRepeat> repeats) {
  const AllSeries all = series_of(heard, uuid);
  if (all.empty()) return;
  for (RanRepeat& ran : repeats)
    if (ran.answer.repeat.status == StackStatus::ok) add_to(all, ran);
}

}  // namespace gpuready::bench
