// Markdown in the dialect that GitHub and GitLab read (GFM): tables, fenced code.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "report/facts.h"
#include "report/markdown_text.h"
#include "report/sampled.h"
#include "report/summary.h"
#include "report/text_layout.h"
#include "report/topology.h"
#include "value/action.h"
#include "value/names.h"

namespace gpuready {
namespace {

// A fence longer than any run of backticks inside.
std::string fenced(std::string_view text, std::string_view language = "") {
  std::size_t longest = 2, run = 0;
  std::string body;
  for (const auto line : lines(text)) body += one_line(line) + "\n";
  for (const char c : body) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fmt::format("{}{}\n{}{}\n", fence, language, body, fence);
}

std::string row(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const auto& cell : cells) out += " " + cell + " |";
  return out + "\n";
}

std::string table(const std::vector<std::string>& titles,
                  const std::vector<std::vector<std::string>>& rows) {
  std::string out = row(titles) + "|";
  for (std::size_t i = 0; i < titles.size(); ++i) out += " --- |";
  out += "\n";
  for (const auto& cells : rows) out += row(cells);
  return out;
}

std::string gpus(const Summary& summary) {
  if (summary.gpus.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const GpuSummary& gpu : summary.gpus)
    rows.push_back({std::to_string(gpu.gpu->index), markdown_text(gpu.gpu->name),
                    fmt::format("**{}**", to_text(gpu.state)), markdown_text(gpu.reason),
                    gpu.gpu->memory.total_bytes ? format_bytes(*gpu.gpu->memory.total_bytes) : "",
                    gpu.gpu->pci ? gpu.gpu->pci->text() : "",
                    markdown_text(gpu.gpu->uuid.value_or(""))});
  return "\n## GPUs\n\n" +
         table({"GPU", "Name", "Status", "Why", "Memory", "PCI address", "UUID"}, rows);
}

std::string obligations(const Summary& summary) {
  std::vector<std::vector<std::string>> rows;
  for (const GpuSummary& row : summary.gpus)
    for (const Obligation& owed : row.obligations) {
      const Metric* figure = owed.figure ? &*owed.figure : nullptr;
      rows.push_back({std::to_string(row.gpu->index), words_of(owed.kind),
                      fmt::format("**{}**", words_of(owed.status)), words_of(owed.duty),
                      markdown_text(owed.reason),
                      figure ? markdown_text(quantity_text(figure->value, figure->unit)) : "",
                      figure && figure->threshold
                          ? markdown_text(quantity_text(*figure->threshold, figure->unit))
                          : "",
                      figure ? markdown_text(figure->threshold_source.value_or("")) : ""});
    }
  if (rows.empty()) return {};
  return "\n## Obligations\n\n" +
         table({"GPU", "Obligation", "Status", "Duty", "Why", "Figure", "Limit", "From"}, rows);
}

std::string cell_text(const std::optional<TestCell>& cell) {
  if (!cell) return {};
  std::string_view mark = "?";
  if (cell->status == VerdictStatus::passed && cell->tone == Tone::good) mark = "ok";
  if (cell->status == VerdictStatus::failed) mark = "FAILED";
  if (cell->status == VerdictStatus::not_supported) mark = "-";
  return fmt::format("**{}** {}", mark, markdown_text(cell->text));
}

// Devices down, tests across; worth it for more than one of each.
std::string matrix(const Summary& summary) {
  if (summary.test_names.size() < 2 || summary.test_rows.size() < 2) return {};
  std::vector<std::string> titles{"Device"};
  for (const auto& name : summary.test_names) titles.push_back(markdown_text(name));
  std::vector<std::vector<std::string>> rows;
  for (const TestRow& each : summary.test_rows) {
    auto& cells = rows.emplace_back(std::vector<std::string>{markdown_text(each.subject)});
    for (const auto& name : summary.test_names)
      cells.push_back(cell_text(test_cell(summary, each, name)));
  }
  return table(titles, rows) + "\n";
}

// Every metric with what it was held against.
std::string measured(const Summary& summary) {
  std::vector<std::vector<std::string>> rows;
  for (const TestSummary& test : summary.tests)
    for (const Metric& metric : test.verdict->metrics) {
      if (!number(metric.value)) continue;
      const bool low = metric.threshold && metric.value < *metric.threshold;
      const std::string value = markdown_text(quantity_text(metric.value, metric.unit));
      rows.push_back(
          {markdown_text(test.verdict->subject), markdown_text(test.verdict->test),
           markdown_text(metric_title(metric.name)), low ? "**" + value + "**" : value,
           metric.threshold ? markdown_text(quantity_text(*metric.threshold, metric.unit)) : "",
           markdown_text(metric.threshold_source.value_or(""))});
    }
  if (rows.empty()) return {};
  return "\n### Measured\n\n" +
         table({"Device", "Test", "What", "Value", "At least", "From"}, rows);
}

// What was found wrong, word by word.
std::string evidence(const Verdict& verdict) {
  std::string out;
  const auto add = [&](std::uint64_t total, std::size_t listed, std::string_view what,
                       const std::string& list) {
    if (total == 0 && listed == 0) return;
    out += fmt::format("\n{}, {}: {} {}{}\n", markdown_text(verdict.subject),
                       markdown_text(verdict.test), std::max<std::uint64_t>(total, listed), what,
                       listed == 0 ? "." : ":");
    if (listed > 0) out += "\n" + fenced(list);
  };
  std::string words, mismatches;
  for (const BadWord& word : verdict.bad_words) words += one_line(bad_word_text(word)) + "\n";
  for (const Mismatch& mismatch : verdict.mismatches)
    mismatches += one_line(mismatch_text(mismatch, verdict.executor)) + "\n";
  add(verdict.bad_words_total, verdict.bad_words.size(), "bad words; the first by address", words);
  add(verdict.mismatches_total, verdict.mismatches.size(), "wrong values; some of them",
      mismatches);
  return out;
}

std::string tests(const Summary& summary) {
  if (summary.tests.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  std::string words;
  for (const TestSummary& test : summary.tests) {
    const Verdict& verdict = *test.verdict;
    rows.push_back(
        {markdown_text(verdict.subject), markdown_text(verdict.test),
         fmt::format("**{}**", words_of(verdict.status)),
         verdict.duration_ms > 0 ? format_duration_ms(verdict.duration_ms) : "",
         markdown_text(join(test.figures, ", ")),
         markdown_text(verdict.reason) + (verdict.injected_fault
                                              ? fmt::format(" **(fault injected on purpose: {})**",
                                                            markdown_text(*verdict.injected_fault))
                                              : "")});
    words += evidence(verdict);
  }
  return "\n## Tests\n\n" + matrix(summary) +
         table({"Device", "Test", "Result", "Took", "Figures", "Proven or found"}, rows) + words +
         measured(summary);
}

std::string samples(const Report& report) {
  if (!report.samples) return {};
  std::vector<std::vector<std::string>> rows;
  for (const SampledGpu& gpu : sampled_gpus(*report.samples))
    rows.push_back({fmt::format("GPU {}", gpu.gpu), min_mean_max(gpu.sm_clock),
                    min_mean_max(gpu.memory_clock), min_mean_max(gpu.power),
                    min_mean_max(gpu.gpu_temperature), min_mean_max(gpu.memory_temperature),
                    markdown_text(held_back_text(gpu)), markdown_text(counted_text(gpu))});
  if (rows.empty() && report.samples->absent.empty()) return {};
  std::string out = "\n## While the tests ran\n\n";
  if (!rows.empty())
    out += fmt::format("Least/mean/most, sampled every {}.\n\n",
                       format_duration_ms(report.samples->interval_ms)) +
           table({"Device", "SM clock, MHz", "Memory clock, MHz", "Power, W", "GPU, C", "Memory, C",
                  "Clocks held back by", "Errors counted"},
                 rows);
  for (const auto& text : report.samples->absent)
    out += "\nNot sampled: " + markdown_text(text) + "\n";
  return out;
}

std::string fitness(const Summary& summary) {
  if (summary.fitness.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const TestSummary& check : summary.fitness)
    rows.push_back({markdown_text(check.verdict->test),
                    fmt::format("**{}**", words_of(check.verdict->status)),
                    markdown_text(check.verdict->reason)});
  return "\n## Fitness of the host\n\n" + table({"Check", "Result", "Measured"}, rows);
}

std::string finding_text(const Finding& finding, int depth) {
  const std::string concerned = concerned_text(finding);
  std::string out =
      fmt::format("\n{} {}: {}\n\n{}{}\n", std::string(depth == 0 ? 3 : 4, '#'),
                  to_string(finding.severity), markdown_text(finding.title),
                  markdown_text(finding.id), concerned.empty() ? "" : " - " + concerned);
  if (!finding.explanation.empty()) out += "\n" + markdown_text(finding.explanation) + "\n";
  for (const Evidence& evidence : finding.evidence)
    out += fmt::format("\nEvidence, {}:\n\n{}", markdown_text(evidence.source),
                       fenced(evidence.quote));
  if (finding.logged) out += "\n**Logged:** " + markdown_text(logged_text(*finding.logged)) + "\n";
  if (finding.cure) out += "\n**Cure:** " + markdown_text(*finding.cure) + "\n";
  if (finding.command) out += "\n" + fenced(*finding.command, "sh");
  if (finding.terms) out += "\n**Risk:** " + words_of(*finding.terms) + "\n";
  if (finding.action != Action::none) out += "\n**Action:** " + words_of(finding.action) + "\n";
  if (depth > 8) return out;
  if (!finding.explains.empty()) out += "\nIt explains:\n";
  for (const Finding& inner : finding.explains) out += finding_text(inner, depth + 1);
  return out;
}

std::string findings(const Report& report) {
  if (!report.findings) return {};
  std::string out = "\n## Findings\n";
  if (report.findings->empty())
    return out + "\nNone: looked at " + looked_at(report.machine) + ".\n";
  for (const Finding& finding : *report.findings) out += finding_text(finding, 0);
  return out;
}

std::string topology(const Machine& machine) {
  const TopologyMatrix matrix = topology_matrix(machine);
  if (matrix.gpus.empty()) return {};
  std::vector<std::string> titles{""};
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < matrix.gpus.size(); ++i) {
    titles.push_back(fmt::format("GPU{}", matrix.gpus[i]));
    rows.push_back({"**" + titles.back() + "**"});
    for (const auto& label : matrix.labels[i]) rows.back().push_back(label);
  }
  std::string out = "\n## Topology\n\n" + table(titles, rows) + "\n";
  for (const LegendEntry& entry : matrix.legend)
    out += fmt::format("- {}: {}\n", markdown_text(entry.label), markdown_text(entry.meaning));
  return out;
}

std::string group_lists(const std::vector<FactGroup>& groups) {
  std::string out;
  for (const FactGroup& group : groups) {
    out += "\n**" + markdown_text(group.title) + "**\n\n";
    for (const Fact& fact : group.facts)
      out += fmt::format("- {}: {}\n", markdown_text(fact.label), markdown_text(fact.value));
  }
  return out;
}

}  // namespace

std::string render_markdown(const Report& report) {
  const Summary summary = summarize(report);
  std::string out = "# gpuready " + markdown_text(report.command) + "\n";
  if (summary.faked) out += "\n**" + markdown_text(*summary.faked) + "**\n";
  if (summary.injected) out += "\n**" + markdown_text(*summary.injected) + "**\n";
  if (summary.no_gpu) out += "\n" + markdown_text(*summary.no_gpu) + "\n";
  for (const auto& note : report.notes) out += "\n" + markdown_text(note) + "\n";
  out += "\n**" + markdown_text(summary.conclusion) + "**\n";
  out += fmt::format("\nExit code {}: {}. gpuready {}, {}.\n", static_cast<int>(report.exit),
                     exit_meaning(report.exit), markdown_text(report.tool_version),
                     markdown_text(report.created_utc));
  out += gpus(summary);
  out += obligations(summary);
  for (const VulkanDevice* device : summary.software_devices)
    out += fmt::format("\nSoftware, no GPU: {} (Vulkan on the CPU)\n", markdown_text(device->name));
  out += tests(summary) + samples(report) + fitness(summary) + findings(report) +
         topology(report.machine);
  for (const Gpu& gpu : report.machine.gpus)
    out += fmt::format("\n## GPU {}: {}\n", gpu.index, markdown_text(gpu.name)) +
           group_lists(gpu_facts(gpu));
  out += "\n## Machine\n" + group_lists(machine_facts(report.machine));
  if (!report.machine.unseen.empty()) out += "\n## Could not be seen\n\n";
  for (const Unseen& unseen : report.machine.unseen)
    out += fmt::format("- {}: {}\n", markdown_text(unseen.what), markdown_text(unseen.why));
  return out;
}

}  // namespace gpuready
