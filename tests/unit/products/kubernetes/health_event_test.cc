// Bytes written by hand from protobuf's specification, and what a node's state becomes.
#include "kubernetes/health_event.h"

#include <gtest/gtest.h>

#include "doctor/diagnose.h"
#include "kubernetes/report/events.h"
#include "report/conclude.h"
#include "unit/machine_folders.h"
#include "unit/report/healthy.h"

namespace gpuready::kubernetes {
namespace {

TEST(HealthEvent, IsEncodedAsProtobuf) {
  const HealthEvent event{.check = "C",
                          .message = "m",
                          .recommended_action = 24,
                          .error_codes = {"e"},
                          .entities = {{"PCI", "p"}}};
  const std::string inner(
      "\x08\x01"                     // version 1
      "\x12\x08gpuready\x1a\x03GPU"  // agent, componentClass
      "\x22\x01"
      "C\x28\x01"  // checkName; isFatal; isHealthy is the default
      "\x3a\x01m\x40\x18\x4a\x01"
      "e"                             // message, recommendedAction, errorCode
      "\x52\x08\x0a\x03PCI\x12\x01p"  // entitiesImpacted
      "\x62\x03\x08\xac\x02"          // generatedTimestamp: 300 s
      "\x6a\x01n");                   // nodeName
  const HealthEvent one[] = {event};
  EXPECT_EQ(encode(one, "n", 300),
            "\x08\x01\x12" + std::string(1, static_cast<char>(inner.size())) + inner);
}

// Numbers of RecommendedAction, as health_event.proto has them.
TEST(HealthEvent, ActionsHaveNvsentinelsNumbers) {
  const std::pair<Action, std::uint32_t> expected[] = {
      {Action::none, 0},           {Action::check_again, 26}, {Action::configure, 0},
      {Action::reload_driver, 15}, {Action::reset_gpu, 2},    {Action::reboot, 15},
      {Action::power_cycle, 24},   {Action::replace, 25},     {Action::ask_host, 5}};
  for (const auto& [action, number] : expected)
    EXPECT_EQ(recommended_action(action, false, true), number) << to_string(action);
  EXPECT_EQ(recommended_action(Action::reboot, true, true), 24u);
  EXPECT_EQ(recommended_action(Action::reset_gpu, true, false), 24u);  // no UUID: the node restarts
  EXPECT_EQ(recommended_action(Action::reset_gpu, false, false), 15u);
}

Report node(int gpus) {
  Report report = healthy(gpus);
  for (Gpu& gpu : report.machine.gpus)
    gpu.pci = PciAddress{0, static_cast<std::uint8_t>(0x10 + gpu.index), 0, 0};
  report.command = "doctor";
  report.verdicts.reset();
  report.findings.emplace();
  conclude(report, {});
  return report;
}
Result<StatusReport> kept(std::vector<KeptResult> results = {}) {
  StatusReport status;
  for (const auto& result : results) status.standing = std::max(status.standing, result.standing);
  status.results = std::move(results);
  return status;
}
std::vector<std::string> said(const Report& report, const Result<StatusReport>& status) {
  std::vector<std::string> out;
  for (const auto& event : health_events(not_ready(report, status), &report, status)) {
    std::string line = event.check + (event.healthy ? " healthy" : " fault");
    for (const auto& code : event.error_codes) line += " " + code;
    for (const auto& entity : event.entities)
      if (entity.type == "PCI") line += " " + entity.value;
    out.push_back(line);
  }
  return out;
}
using Lines = std::vector<std::string>;

TEST(HealthEvents, ANodeWithoutFaultClearsEverything) {
  EXPECT_EQ(said(node(2), kept()),
            (Lines{"GpureadyGpuFault healthy", "GpureadyNodeFault healthy"}));
}

TEST(HealthEvents, AFaultIsThatOfItsGpuAndTheOthersAreHealthy) {
  Report report = node(2);
  Finding finding;
  finding.id = "ecc";
  finding.severity = Severity::error;
  finding.title = "a;b";
  finding.gpus = {1};
  report.findings->push_back(finding);
  conclude(report, {});
  const auto pci = [&](std::size_t i) { return report.machine.gpus[i].pci->text(); };
  EXPECT_EQ(said(report, kept()),
            (Lines{"GpureadyGpuFault fault ecc " + pci(1), "GpureadyGpuFault healthy " + pci(0)}));
  const Result<StatusReport> lost = fail(ErrorKind::no_permission, "results.json: not yours");
  EXPECT_EQ(said(report, lost), (Lines{"GpureadyGpuFault fault ecc " + pci(1)}));
  EXPECT_EQ(health_events(not_ready(report, lost), &report, lost).front().message, "a,b");
}

TEST(HealthEvents, AFaultOfNoGpuIsTheNodesWithTheDevicesThatItNames) {
  Report report = node(1);
  Finding finding;
  finding.id = "gpu-gone-from-bus";
  finding.severity = Severity::error;
  finding.title = "gone";
  finding.pci = {PciAddress{0, 0x99, 0, 0}};
  report.findings->push_back(finding);
  conclude(report, {});
  const auto lines = said(report, kept());
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0], "GpureadyNodeFault fault gpu-gone-from-bus 0000:99:00.0");
}

TEST(HealthEvents, AWarningIsNoFaultAndAGpuOfOthersIsNotCalledHealthy) {
  Report report = node(3);
  for (const auto& [gpu, severity] : {std::pair{0, Severity::warning}, {1, Severity::error}}) {
    Finding finding;
    finding.id = std::string(to_string(severity));
    finding.severity = severity;
    finding.title = "t";
    finding.gpus = {gpu};
    report.findings->push_back(finding);
  }
  report.machine.container.runtime = "docker";
  report.machine.gpus[2].nvml_index.reset();  // it was not given to this container
  conclude(report, {});
  EXPECT_EQ(said(report, kept()),
            (Lines{"GpureadyGpuFault fault error " + report.machine.gpus[1].pci->text(),
                   "GpureadyGpuFault healthy " + report.machine.gpus[0].pci->text()}));
}

// In a container the cure is its host's (5); for NVSentinel, which acts there, it is a restart.
TEST(HealthEvents, TheActionIsTheNodesAndNotTheContainers) {
  Report report = node(1);
  report.machine = test::machine_of("uvm-missing");
  report.machine.container.runtime = "docker";
  report.findings = diagnose(report.machine, {});
  conclude(report, {});
  const auto events = health_events(not_ready(report, kept()), &report, kept());
  ASSERT_EQ(report.findings->front().action, Action::ask_host);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0].error_codes, Lines{"uvm-missing"});
  EXPECT_EQ(events[0].recommended_action, recommended_action(Action::reload_driver, true, false));
}

TEST(HealthEvents, AFailedTestIsAFaultAndWhatIsUndeterminedClearsNothing) {
  const Report report = node(1);
  KeptResult bad;
  bad.subject = "GPU 0";
  bad.pci = report.machine.gpus[0].pci;
  bad.standing = Standing::bad;
  EXPECT_EQ(said(report, kept({bad})),
            (Lines{"GpureadyGpuFault fault test-bad " + bad.pci->text()}));
  const Result<StatusReport> lost = fail(ErrorKind::no_permission, "results.json: not yours");
  EXPECT_EQ(said(report, lost), Lines{});
}

TEST(HealthEvents, WithoutADriverTheNodeHasTheFault) {
  const auto events = health_events(without_driver("/run/nvidia/driver"), nullptr, kept());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].check, kNodeCheck);
  EXPECT_FALSE(events[0].healthy);
}

TEST(HealthEvents, AreALineEach) {
  EXPECT_EQ(lines_of({}), "");
  EXPECT_EQ(lines_of({{.check = "GpuCheck",
                       .message = "GPU 0 is lost",
                       .error_codes = {"xid-79", "xid-154"},
                       .entities = {{"PCI", "0000:17:00.0"}, {"GPU_UUID", "GPU-0"}}},
                      {.check = "NodeCheck", .healthy = true, .message = "no fault"}}),
            "GpuCheck fault PCI:0000:17:00.0 GPU_UUID:GPU-0 xid-79 xid-154: GPU 0 is lost\n"
            "NodeCheck healthy: no fault\n");
}

}  // namespace
}  // namespace gpuready::kubernetes
