#include "health/throttle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"

namespace gpuready {
namespace {

constexpr double kLeastShare = 0.1;  // of the test: less explains no low figure
constexpr std::size_t kMostCauses = 2;

struct Event {
  std::string_view series, name;
  std::string_view beside;  // the series whose highest value belongs to the cause
};
constexpr Event kEvents[] = {
    {"clock_event_hw_thermal_slowdown", "HW thermal slowdown", "gpu_temperature"},
    {"clock_event_sw_thermal_slowdown", "SW thermal slowdown", "gpu_temperature"},
    {"clock_event_hw_power_brake", "HW power brake", "power"},
    {"clock_event_hw_slowdown", "HW slowdown", ""},
    {"clock_event_sw_power_cap", "SW power cap", "power"},
    {"clock_event_sync_boost", "sync boost", ""},
    {"clock_event_application_clocks", "application clocks", "sm_clock"},
    {"clock_event_display_clocks", "display clocks", ""},
};

struct Span {
  double from_ms, to_ms;
};

// Mean and highest value within the span. A test that is shorter than the time between two samples
// has the nearest one to itself.
struct Within {
  double mean = 0, max = 0;
};
std::optional<Within> within(const SampleSeries& series, Span span) {
  double sum = 0, max = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < series.t_ms.size(); ++i) {
    if (series.t_ms[i] < span.from_ms || series.t_ms[i] > span.to_ms) continue;
    max = count == 0 ? series.value[i] : std::max(max, series.value[i]);
    sum += series.value[i];
    ++count;
  }
  if (count == 0) return std::nullopt;
  return Within{sum / static_cast<double>(count), max};
}

// Of what clocks can explain: they change no amount of memory.
bool is_low(const Metric& metric) {
  return metric.threshold && metric.unit != "B" && metric.name != "coverage" &&
         std::isfinite(metric.value) && metric.value < *metric.threshold;
}

// GPUs that the verdict is about, by what their series say of themselves.
std::vector<int> gpus_of(const Verdict& verdict, const Samples& samples) {
  std::vector<int> out;
  for (const SampleSeries& series : samples.series) {
    if (!series.gpu || !series.uuid) continue;
    if (series.uuid != verdict.uuid && series.uuid != verdict.peer_uuid) continue;
    if (std::find(out.begin(), out.end(), *series.gpu) == out.end()) out.push_back(*series.gpu);
  }
  return out;
}

}  // namespace

std::string_view clock_event_name(std::string_view series) {
  for (const Event& event : kEvents)
    if (event.series == series) return event.name;
  return {};
}

std::optional<std::string> throttling_during(const Verdict& verdict, int gpu,
                                             const Samples& samples) {
  if (!verdict.started_ms) return std::nullopt;
  const Span span{*verdict.started_ms, *verdict.started_ms + verdict.duration_ms};
  struct Cause {
    double share;
    std::string text;
  };
  std::vector<Cause> causes;
  for (const Event& event : kEvents) {
    const SampleSeries* series = samples.find(gpu, event.series);
    const auto held = series ? within(*series, span) : std::nullopt;
    if (!held || held->mean < kLeastShare) continue;
    std::string text = fmt::format("{} during {} of the test", event.name,
                                   format_percent(std::min(held->mean, 1.0), 0));
    const SampleSeries* beside = samples.find(gpu, event.beside);
    if (const auto figure = beside ? within(*beside, span) : std::nullopt)
      text += fmt::format(" (up to {:.0f} {})", figure->max, beside->unit);
    causes.push_back({held->mean, std::move(text)});
  }
  if (causes.empty()) return std::nullopt;
  std::sort(causes.begin(), causes.end(),
            [](const Cause& a, const Cause& b) { return a.share > b.share; });
  if (causes.size() > kMostCauses) causes.resize(kMostCauses);
  std::vector<std::string> texts;
  for (Cause& cause : causes) texts.push_back(std::move(cause.text));
  return join(texts, ", ");
}

void explain_low_figures(const Samples& samples, std::vector<Verdict>& verdicts) {
  for (Verdict& verdict : verdicts) {
    if (std::none_of(verdict.metrics.begin(), verdict.metrics.end(), is_low)) continue;
    const std::vector<int> gpus = gpus_of(verdict, samples);
    std::vector<std::string> texts;
    for (const int gpu : gpus)
      if (const auto cause = throttling_during(verdict, gpu, samples))
        texts.push_back(gpus.size() > 1 ? fmt::format("GPU {}: {}", gpu, *cause) : *cause);
    if (texts.empty()) continue;
    if (verdict.reason.ends_with('.')) verdict.reason.pop_back();
    verdict.reason += "; clocks were held back: " + join(texts, "; ");
  }
}

}  // namespace gpuready
