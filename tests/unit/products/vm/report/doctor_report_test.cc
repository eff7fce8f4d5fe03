#include "vm/report/doctor_report.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

using vm::ConsoleKind;
using vm::ConsoleState;

Finding finding(Severity severity, std::string id = "iommu-off") {
  Finding out;
  out.id = std::move(id);
  out.severity = severity;
  out.title = "The IOMMU is off";
  out.explanation = "No device can be given away.";
  return out;
}

VmDoctorReport of(std::string side, std::vector<Finding> findings, std::size_t devices = 1) {
  return {.side = std::move(side), .devices = devices, .findings = std::move(findings)};
}

VmDoctorReport of_console(const vm::ConsoleReport& console) {
  return {.side = "console", .console = console};
}

TEST(VmDoctorReport, ConcludesFromItsFindings) {
  constexpr auto kError = Severity::error, kWarning = Severity::warning, kInfo = Severity::info;
  const std::pair<VmDoctorReport, const char*> rows[] = {
      {of("host", {}, 0), "This machine has no device that can be given to a virtual machine."},
      {of("host", {finding(kWarning)}, 0),
       "This machine has no device that can be given to a virtual machine."},
      {of("host", {finding(kError)}, 0),
       "1 error about giving this host's devices to virtual machines."},
      {of("host", {finding(kInfo)}), "Nothing keeps virtual machines from this host's devices."},
      {of("host", {finding(kWarning), finding(kWarning)}),
       "2 warnings about giving this host's devices to virtual machines."},
      {of("host", {finding(kError), finding(kWarning), finding(kError)}),
       "2 errors and 1 warning about giving this host's devices to virtual machines."},
      {of("guest", {}, 0), "Nothing keeps this guest from its GPU."},
      {of("guest", {finding(kError), finding(kWarning)}, 0),
       "1 error and 1 warning about this guest's GPU."},
      {of("guest", {finding(kError), finding(kError, "no-gpu")}, 0),
       "No GPU is on this guest's bus."},
      {of("host", {finding(kError, "no-gpu")}),
       "1 error about giving this host's devices to virtual machines."},
  };
  for (const auto& [report, text] : rows) EXPECT_EQ(conclusion(report), text);
  auto unread = of("host", {finding(kError)}, 0);
  unread.bus_unread = "/sys is not mounted";
  EXPECT_EQ(conclusion(unread), "Cannot tell whether a device is here: /sys is not mounted.");
}

TEST(VmDoctorReport, ConcludesFromAConsole) {
  const auto text = [](ConsoleKind kind, ConsoleState state, std::optional<std::string> driver = {},
                       std::optional<vm::FailedStep> step = {}) {
    vm::ConsoleReport console;
    console.kind = kind;
    console.state = state;
    console.driver_version = std::move(driver);
    console.failed_step = std::move(step);
    return conclusion(of_console(console));
  };
  EXPECT_EQ(text(ConsoleKind::linux_boot, ConsoleState::ready, "580.65.06"),
            "Driver 580.65.06 was loaded, and nothing in this log speaks against the GPU.");
  EXPECT_EQ(text(ConsoleKind::linux_boot, ConsoleState::ready),
            "The driver was loaded, and nothing in this log speaks against the GPU.");
  for (const auto kind : {ConsoleKind::gpuready, ConsoleKind::hypeman})
    EXPECT_EQ(text(kind, ConsoleState::ready, "580.65.06"),
              "The guest's GPU is ready, with driver 580.65.06.");
  EXPECT_EQ(text(ConsoleKind::gpuready, ConsoleState::failed, {},
                 vm::FailedStep{"module", "nvidia", "no GPU"}),
            "The guest's GPU is not ready: it failed at module nvidia.");
  EXPECT_EQ(text(ConsoleKind::gpuready, ConsoleState::failed, {}, vm::FailedStep{"boot", "", "x"}),
            "The guest's GPU is not ready: it failed at boot.");
  EXPECT_EQ(text(ConsoleKind::linux_boot, ConsoleState::failed), "The guest's GPU is not ready.");
  EXPECT_EQ(text(ConsoleKind::unknown, ConsoleState::unknown, "580.65.06"),
            "This log does not tell whether a GPU is ready.");
}

TEST(VmDoctorReport, ShowsWhatWasNotSeenTheFailedStepAndTheFindings) {
  vm::ConsoleReport console;
  console.state = ConsoleState::failed;
  console.failed_step = vm::FailedStep{"module", "nvidia", "no GPU that it drives"};
  auto report = of_console(console);
  report.unseen = {"the first 5 MiB of the log"};
  report.findings = {finding(Severity::error), finding(Severity::info, "iommu-translates-all")};
  EXPECT_EQ(render_terminal(report, {}),
            "not seen: the first 5 MiB of the log\n"
            "failed step: module nvidia: no GPU that it drives\n"
            "\n"
            "  [x] ERROR  The IOMMU is off\n"
            "    iommu-off\n"
            "    No device can be given away.\n"
            "\n"
            "  [-] INFO  The IOMMU is off\n"
            "    iommu-translates-all\n"
            "    No device can be given away.\n"
            "\n"
            "The guest's GPU is not ready: it failed at module nvidia.\n");
  EXPECT_EQ(render_terminal(report, {.quiet = true}),
            "not seen: the first 5 MiB of the log\n"
            "\n"
            "  [x] ERROR  The IOMMU is off\n"
            "    iommu-off\n");
  EXPECT_EQ(render_terminal(of("guest", {}), {}), "Nothing keeps this guest from its GPU.\n");
  EXPECT_EQ(render_terminal(of("guest", {}), {.quiet = true}), "");
}

}  // namespace
}  // namespace gpuready
