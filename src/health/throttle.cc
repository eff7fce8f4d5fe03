#include "health/throttle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "health/clock_events.h"

namespace gpuready {
namespace {

constexpr double kLeastShare = 0.1;  // of the test: less explains no low figure
constexpr std::size_t kMostCauses = 2;

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

std::optional<std::string> throttling_during(const Verdict& verdict, int gpu,
                                             const Samples& samples) {
  if (!verdict.started_ms) return std::nullopt;
  const TimeSpan span = time_of(verdict);
  struct Cause {
    double share;
    std::string text;
  };
  std::vector<Cause> causes;
  const auto during = [&](std::string_view name) {
    const SampleSeries* series = samples.find(gpu, name);
    return series ? values_within(*series, {&span, 1}) : std::vector<double>{};
  };
  for (const ClockEvent& event : clock_events()) {
    const double share = mean(during(event.series));
    if (share < kLeastShare) continue;
    std::string text = fmt::format("{} during {} of the test", event.name,
                                   format_percent(std::min(share, 1.0), 0));
    if (const auto figures = during(event.beside); !figures.empty())
      text += fmt::format(" (up to {:.0f} {})", std::ranges::max(figures),
                          samples.find(gpu, event.beside)->unit);
    causes.push_back({share, std::move(text)});
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
