#include "vm/report/doctor_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/summary.h"
#include "report/terminal/terminal_parts.h"

namespace gpuready {
namespace {

std::size_t count(const VmDoctorReport& report, Severity severity) {
  return static_cast<std::size_t>(
      std::ranges::count(report.findings, severity, &Finding::severity));
}

std::string of_console(const VmDoctorReport& report) {
  const auto& console = *report.console;
  const std::string driver =
      console.driver_version ? "driver " + *console.driver_version : "the driver";
  switch (console.state) {
    case vm::ConsoleState::ready:
      return console.kind == vm::ConsoleKind::linux_boot
                 ? capitalized(driver) +
                       " was loaded, and nothing in this log speaks against the GPU."
                 : "The guest's GPU is ready, with " + driver + ".";
    case vm::ConsoleState::failed:
      if (console.failed_step)
        return fmt::format(
            "The guest's GPU is not ready: it failed at {}{}.", console.failed_step->kind,
            console.failed_step->subject.empty() ? "" : " " + console.failed_step->subject);
      return "The guest's GPU is not ready.";
    case vm::ConsoleState::unknown:
      break;
  }
  return "This log does not tell whether a GPU is ready.";
}

}  // namespace

std::string conclusion(const VmDoctorReport& report) {
  if (report.console) return of_console(report);
  if (report.bus_unread)
    return fmt::format("Cannot tell whether a device is here: {}.", *report.bus_unread);
  const auto errors = count(report, Severity::error), warnings = count(report, Severity::warning);
  if (report.side == "host" && report.devices == 0 && errors == 0)
    return "This machine has no device that can be given to a virtual machine.";
  std::string text = errors > 0 ? counted(errors, "error") : std::string();
  if (warnings > 0) text += (text.empty() ? "" : " and ") + counted(warnings, "warning");
  if (report.side == "guest" &&
      std::ranges::find(report.findings, "no-gpu", &Finding::id) != report.findings.end())
    return "No GPU is on this guest's bus.";
  if (report.side == "guest")
    return text.empty() ? "Nothing keeps this guest from its GPU."
                        : text + " about this guest's GPU.";
  return text.empty() ? "Nothing keeps virtual machines from this host's devices."
                      : text + " about giving this host's devices to virtual machines.";
}

std::string render_terminal(const VmDoctorReport& report, const TerminalStyle& style) {
  TerminalText out(style);
  for (const auto& unseen : report.unseen) out.paragraph(0, {"not seen: "}, unseen);
  if (report.console && report.console->failed_step && !style.quiet) {
    const auto& step = *report.console->failed_step;
    out.paragraph(0, {"failed step: ", Ink::bold},
                  fmt::format("{} {}: {}", step.kind, step.subject, step.text));
  }
  for (const auto& finding : report.findings)
    if (!style.quiet || finding.severity != Severity::info)
      write_finding(finding, style.quiet, out);
  if (!style.quiet) {
    out.blank();
    out.paragraph(0, {""}, conclusion(report));
  }
  return out.take();
}

}  // namespace gpuready
