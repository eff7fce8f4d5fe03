// Markdown in the dialect that GitHub and GitLab read (GFM): tables, fenced code.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "report/facts.h"
#include "report/summary.h"
#include "report/text_layout.h"
#include "report/topology.h"

namespace gpuready {
namespace {

// Everything that Markdown or HTML could take for markup.
std::string escape(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (std::string_view("\\`*_[]|~#!").contains(c))
      out += {'\\', c};
    else
      out += c;
  }
  return out;
}

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
    rows.push_back({std::to_string(gpu.gpu->index), escape(gpu.gpu->name),
                    fmt::format("**{}**", to_text(gpu.state)), escape(gpu.reason),
                    gpu.gpu->memory.total_bytes ? format_bytes(*gpu.gpu->memory.total_bytes) : "",
                    gpu.gpu->pci ? gpu.gpu->pci->text() : "", escape(gpu.gpu->uuid.value_or(""))});
  return "\n## GPUs\n\n" +
         table({"GPU", "Name", "Status", "Why", "Memory", "PCI address", "UUID"}, rows);
}

std::string tests(const Summary& summary) {
  if (summary.tests.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  std::string words;
  for (const TestSummary& test : summary.tests) {
    const Verdict& verdict = *test.verdict;
    std::vector<std::string> rates;
    for (const Rate& rate : test.rates)
      rates.push_back(fmt::format(
          "{} {}{}", escape(rate.name), format_rate(rate.bytes_per_second),
          rate.of_copy_rate ? " (" + format_percent(*rate.of_copy_rate, 0) + " of copy)" : ""));
    rows.push_back({escape(verdict.subject), escape(verdict.test),
                    fmt::format("**{}**", status_text(verdict.status)),
                    verdict.coverage ? coverage_text(*verdict.coverage) : "",
                    test.tested_of_total ? format_percent(*test.tested_of_total) : "",
                    join(rates, ", "),
                    escape(verdict.reason) +
                        (verdict.injected_fault ? " (a fault was injected on purpose)" : "")});
    if (verdict.bad_words.empty()) continue;
    std::string list;
    for (const BadWord& word : verdict.bad_words) list += one_line(bad_word_text(word)) + "\n";
    words += fmt::format("\n{}: {} bad words; the first by address:\n\n{}", escape(verdict.subject),
                         verdict.bad_words_total, fenced(list));
  }
  return "\n## Tests\n\n" +
         table({"Device", "Test", "Result", "Tested", "Coverage", "Rates", "Proven or found"},
               rows) +
         words;
}

std::string fitness(const Summary& summary) {
  if (summary.fitness.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const TestSummary& check : summary.fitness)
    rows.push_back({escape(check.verdict->test),
                    fmt::format("**{}**", status_text(check.verdict->status)),
                    escape(check.verdict->reason)});
  return "\n## Fitness of the host\n\n" + table({"Check", "Result", "Measured"}, rows);
}

std::string finding_text(const Finding& finding, int depth) {
  const std::string concerned = concerned_text(finding);
  std::string out = fmt::format("\n{} {}: {}\n\n{}{}\n", std::string(depth == 0 ? 3 : 4, '#'),
                                to_string(finding.severity), escape(finding.title),
                                escape(finding.id), concerned.empty() ? "" : " - " + concerned);
  if (!finding.explanation.empty()) out += "\n" + escape(finding.explanation) + "\n";
  for (const Evidence& evidence : finding.evidence)
    out += fmt::format("\nEvidence, {}:\n\n{}", escape(evidence.source), fenced(evidence.quote));
  if (finding.cure) out += "\n**Cure:** " + escape(*finding.cure) + "\n";
  if (finding.command) out += "\n" + fenced(*finding.command, "sh");
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
    out += fmt::format("- {}: {}\n", escape(entry.label), escape(entry.meaning));
  return out;
}

std::string group_lists(const std::vector<FactGroup>& groups) {
  std::string out;
  for (const FactGroup& group : groups) {
    out += "\n**" + escape(group.title) + "**\n\n";
    for (const Fact& fact : group.facts)
      out += fmt::format("- {}: {}\n", escape(fact.label), escape(fact.value));
  }
  return out;
}

}  // namespace

std::string render_markdown(const Report& report) {
  const Summary summary = summarize(report);
  std::string out = "# gpuready " + escape(report.command) + "\n";
  if (summary.faked) out += "\n**" + escape(*summary.faked) + "**\n";
  if (summary.no_gpu) out += "\n" + escape(*summary.no_gpu) + "\n";
  for (const auto& note : report.notes) out += "\n" + escape(note) + "\n";
  out += "\n**" + escape(summary.conclusion) + "**\n";
  out += fmt::format("\nExit code {}: {}. gpuready {}, {}.\n", static_cast<int>(report.exit),
                     exit_meaning(report.exit), escape(report.tool_version),
                     escape(report.created_utc));
  out += gpus(summary);
  for (const VulkanDevice* device : summary.software_devices)
    out += fmt::format("\nSoftware, no GPU: {} (Vulkan on the CPU)\n", escape(device->name));
  out += tests(summary) + fitness(summary) + findings(report) + topology(report.machine);
  for (const Gpu& gpu : report.machine.gpus)
    out +=
        fmt::format("\n## GPU {}: {}\n", gpu.index, escape(gpu.name)) + group_lists(gpu_facts(gpu));
  out += "\n## Machine\n" + group_lists(machine_facts(report.machine));
  if (!report.machine.unseen.empty()) out += "\n## Could not be seen\n\n";
  for (const Unseen& unseen : report.machine.unseen)
    out += fmt::format("- {}: {}\n", escape(unseen.what), escape(unseen.why));
  return out;
}

}  // namespace gpuready
