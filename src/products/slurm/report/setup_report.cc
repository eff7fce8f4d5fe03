#include "slurm/report/setup_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/terminal/terminal_parts.h"
#include "report/text_layout.h"

namespace gpuready {

std::string conclusion(const SlurmInstallReport& report) {
  if (report.written)
    return fmt::format(
        "Written. Copy slurm.conf and the scripts to all nodes, then: scontrol reconfigure{}",
        report.taken.empty() ? "." : ". Other programs keep their hooks.");
  if (!report.taken.empty())
    return "Nothing was written, and slurm.conf gives hooks to other programs.";
  return "Nothing was written; pass --write to write this.";
}

std::string conclusion(const SlurmDoctorReport& report) {
  const auto count = [&](Severity severity) {
    return static_cast<std::size_t>(
        std::ranges::count(report.findings, severity, &Finding::severity));
  };
  if (!report.unseen.empty())
    return fmt::format(
        "It is not known whether Slurm's configuration fits the GPUs of {}: not all of it can be "
        "read.",
        report.node);
  if (report.bus_unread && report.findings.empty())
    return fmt::format("It is not known which GPUs {} has: {}.", report.node, *report.bus_unread);
  if (report.findings.empty())
    return report.gpus == 0
               ? fmt::format("{} has no GPU, and Slurm promises none.", report.node)
               : fmt::format("Slurm's configuration fits the GPUs of {}.", report.node);
  return fmt::format("Slurm's configuration of {}: {}, {}.", report.node,
                     counted(count(Severity::error), "error"),
                     counted(count(Severity::warning), "warning"));
}

std::string render_terminal(const SlurmInstallReport& report, const TerminalStyle& style) {
  TerminalText out(style);
  if (!style.quiet) {
    for (const auto& file : report.files) {
      out.paragraph(0, {"file: ", Ink::bold}, file.path);
      for (const auto line : lines(file.content)) out.command(4, line);
    }
    if (!report.lines.empty()) out.paragraph(0, {"add to: ", Ink::bold}, report.conf);
    for (const auto& line : report.lines) out.command(4, line);
  }
  for (const auto& taken : report.taken)
    out.paragraph(
        0, {"not changed: ", Ink::warn},
        fmt::format("{}: {}={}. {}", taken.place, taken.setting, taken.program, taken.how));
  for (const auto& hint : report.hints) out.paragraph(0, {"note: "}, hint);
  out.blank();
  out.paragraph(0, {""}, conclusion(report));
  return out.take();
}

std::string render_terminal(const SlurmDoctorReport& report, const TerminalStyle& style) {
  TerminalText out(style);
  for (const auto& unseen : report.unseen) out.paragraph(0, {"not seen: "}, unseen);
  for (const auto& finding : report.findings)
    if (!style.quiet || finding.severity != Severity::info)
      write_finding(finding, style.quiet, out);
  out.blank();
  out.paragraph(0, {""}, conclusion(report));
  return out.take();
}

}  // namespace gpuready
