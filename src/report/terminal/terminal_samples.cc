#include <fmt/format.h>

#include "base/units.h"
#include "report/sampled.h"
#include "report/terminal/terminal_parts.h"
#include "value/names.h"

namespace gpuready {

void write_fitness(const Summary& summary, bool quiet, TerminalText& out) {
  Table table;
  table.columns = {
      {.title = "Check"}, {.title = "Result"}, {.title = "Measured", .flexible = true}};
  for (const TestSummary& check : summary.fitness) {
    if (quiet && check.tone == Tone::good) continue;
    table.rows.push_back({{check.verdict->test, Ink::bold},
                          {words_of(check.verdict->status), ink_of(check.tone)},
                          {check.verdict->reason}});
  }
  if (table.rows.empty()) return;
  out.heading("Fitness of the host");
  out.table(2, table);
}

void write_samples(const Report& report, bool quiet, TerminalText& out) {
  if (!report.samples || quiet) return;
  const Samples& samples = *report.samples;
  if (samples.series.empty() && samples.absent.empty()) return;
  out.heading("While the tests ran");
  Table table;
  table.columns = {{.title = "Device"},
                   {.title = "SM MHz", .align = Align::right},
                   {.title = "Power W", .align = Align::right},
                   {.title = "GPU C", .align = Align::right},
                   {.title = "Memory C", .align = Align::right, .drop = 1},
                   {.title = "Clocks held back by", .flexible = true}};
  std::vector<std::pair<std::string, std::string>> counted;
  for (const SampledGpu& gpu : sampled_gpus(samples)) {
    const std::string subject = fmt::format("GPU {}", gpu.gpu);
    table.rows.push_back({{subject, Ink::bold},
                          {min_mean_max(gpu.sm_clock)},
                          {min_mean_max(gpu.power)},
                          {min_mean_max(gpu.gpu_temperature)},
                          {min_mean_max(gpu.memory_temperature)},
                          {held_back_text(gpu)}});
    if (auto text = counted_text(gpu); !text.empty()) counted.emplace_back(subject, text);
  }
  if (!table.rows.empty()) {
    out.table(2, table);
    out.paragraph(2, {},
                  fmt::format("Least/mean/most, sampled every {}; with --html as curves.",
                              format_duration_ms(samples.interval_ms)),
                  Ink::dim);
  }
  for (const auto& [subject, text] : counted)
    out.paragraph(2, {subject + ": ", Ink::bold}, "counted meanwhile: " + text, Ink::warn);
  for (const std::string& text : samples.absent)
    out.paragraph(2, {"Not sampled: ", Ink::dim}, text, Ink::dim);
}

}  // namespace gpuready
