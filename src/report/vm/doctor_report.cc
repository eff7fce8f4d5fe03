#include "report/vm/doctor_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/summary.h"
#include "report/terminal_parts.h"
#include "value/json.h"

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
                 ? driver + " was loaded, and nothing in this log speaks against the GPU."
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

Json step_json(const vm::Step& step) {
  return {{"seconds", step.seconds},
          {"state", vm::to_string(step.state)},
          {"kind", printable(step.kind)},
          {"subject", printable(step.subject)},
          {"text", printable(step.text)}};
}

Json console_json(const vm::ConsoleReport& console) {
  Json json = {{"kind", vm::to_string(console.kind)},
               {"state", vm::to_string(console.state)},
               {"boots", console.boots}};
  put(json, "driver_version", console.driver_version);
  if (console.failed_step)
    json["failed_step"] = {{"kind", printable(console.failed_step->kind)},
                           {"subject", printable(console.failed_step->subject)},
                           {"text", printable(console.failed_step->text)}};
  json["steps"] = Json::array();
  for (const auto& step : console.steps) json["steps"].push_back(step_json(step));
  return json;
}

}  // namespace

std::string conclusion(const VmDoctorReport& report) {
  if (report.console) return of_console(report);
  if (report.bus_unread)
    return fmt::format("Cannot tell whether a device is here: {}.", *report.bus_unread);
  const auto errors = count(report, Severity::error), warnings = count(report, Severity::warning);
  if (report.side == "host" && report.devices == 0 && errors == 0)
    return "No device that could be given to a virtual machine is here.";
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

Json to_json(const VmDoctorReport& report, const Envelope& envelope) {
  Json json = begin_document("gpuready.vm-doctor", envelope);
  json["side"] = report.side;
  json["findings"] = Json::array();
  for (const auto& finding : report.findings) json["findings"].push_back(to_json(finding));
  json["unseen"] = Json::array();
  for (const auto& unseen : report.unseen) json["unseen"].push_back(printable(unseen));
  if (report.console) json["console"] = console_json(*report.console);
  return json;
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
