#include "report/sampled.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "health/clock_events.h"

namespace gpuready {
namespace {

struct Known {
  std::string_view name, title;
  const SampleSeries* SampledGpu::* field;  // null: one of a list
};
constexpr Known kKnown[] = {
    {"sm_clock", "SM clock", &SampledGpu::sm_clock},
    {"memory_clock", "memory clock", &SampledGpu::memory_clock},
    {"power", "power", &SampledGpu::power},
    {"gpu_temperature", "GPU", &SampledGpu::gpu_temperature},
    {"memory_temperature", "memory", &SampledGpu::memory_temperature},
    {"utilization", "utilization", &SampledGpu::utilization},
    {"ecc_corrected", "ECC corrected", nullptr},
    {"ecc_uncorrected", "ECC uncorrected", nullptr},
    {"pcie_replays", "PCIe replays", nullptr},
    {"clock_event_any", "anything", nullptr},
};
const Known* known(std::string_view name) {
  for (const Known& each : kKnown)
    if (each.name == name) return &each;
  return nullptr;
}

}  // namespace

std::vector<SampledGpu> sampled_gpus(const Samples& samples) {
  std::vector<SampledGpu> out;
  for (const SampleSeries& series : samples.series) {
    if (!series.gpu || series.value.empty()) continue;
    auto it = std::find_if(out.begin(), out.end(),
                           [&](const SampledGpu& each) { return each.gpu == *series.gpu; });
    if (it == out.end()) {
      it = out.insert(out.end(), SampledGpu{});
      it->gpu = *series.gpu;
    }
    const Known* entry = known(series.name);
    if (entry && entry->field)
      *it.*entry->field = &series;
    else if (series.name == "clock_event_any")
      it->events_known = true;
    else if (series.name.starts_with("clock_event_"))
      it->events.push_back(&series);
    else if (entry)
      it->counters.push_back(&series);
  }
  std::sort(out.begin(), out.end(),
            [](const SampledGpu& a, const SampledGpu& b) { return a.gpu < b.gpu; });
  for (SampledGpu& gpu : out)
    std::sort(gpu.events.begin(), gpu.events.end(),
              [](const auto* a, const auto* b) { return a->mean > b->mean; });
  return out;
}

std::string min_mean_max(const SampleSeries* series) {
  if (!series) return {};
  return fmt::format("{:.0f}/{:.0f}/{:.0f}", series->min, series->mean, series->max);
}

std::string held_back_text(const SampledGpu& gpu) {
  std::vector<std::string> parts;
  for (const SampleSeries* event : gpu.events)
    parts.push_back(series_title(*event) + " " +
                    (event->mean < 0.01 ? "<1%" : format_percent(event->mean, 0)));
  if (parts.empty()) return gpu.events_known ? "nothing" : "";
  return join(parts, ", ");
}

std::string counted_text(const SampledGpu& gpu) {
  std::vector<std::string> parts;
  for (const SampleSeries* counter : gpu.counters)
    if (counter->last > counter->min)
      parts.push_back(
          fmt::format("{:.0f} {}", counter->last - counter->min, series_title(*counter)));
  return join(parts, ", ");
}

std::string series_title(const SampleSeries& series) {
  if (const auto name = clock_event_name(series.name); !name.empty()) return std::string(name);
  const Known* entry = known(series.name);
  return entry ? std::string(entry->title) : series.name;
}

}  // namespace gpuready
