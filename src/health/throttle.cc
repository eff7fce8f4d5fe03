#include "health/throttle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "base/text.h"
#include "base/units.h"
#include "health/clock_events.h"
#include "value/about.h"

namespace gpuready {
namespace {

constexpr double kLeastShare = 0.1;  // of the test: less explains no low figure
constexpr std::size_t kMostCauses = 2;

// Of what clocks can explain: they change no amount of memory.
bool is_low(const Metric& metric) {
  return metric.threshold && metric.unit != "B" && metric.name != "coverage" &&
         std::isfinite(metric.value) && metric.value < *metric.threshold;
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

void explain_low_figures(const Machine& machine, const Samples& samples,
                         std::vector<Verdict>& verdicts) {
  for (Verdict& verdict : verdicts) {
    if (std::none_of(verdict.metrics.begin(), verdict.metrics.end(), is_low)) continue;
    std::vector<std::string> texts;
    for (const Gpu& gpu : machine.gpus) {
      const auto cause =
          is_about(verdict, gpu) ? throttling_during(verdict, gpu.index, samples) : std::nullopt;
      if (cause)
        texts.push_back(verdict.peer_uuid ? fmt::format("GPU {}: {}", gpu.index, *cause) : *cause);
    }
    if (texts.empty()) continue;
    if (verdict.reason.ends_with('.')) verdict.reason.pop_back();
    verdict.reason += "; clocks were held back: " + join(texts, "; ");
  }
}

}  // namespace gpuready
