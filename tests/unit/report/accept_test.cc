#include "report/accept.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "report/conclude.h"

namespace gpuready {
namespace {

// A healthy GPU, and one without a driver.
Report two_gpus() {
  Report report;
  report.command = "doctor";
  report.machine.source = "live";
  for (int i = 0; i < 2; ++i) {
    Gpu gpu;
    gpu.index = i;
    gpu.pci = PciAddress{0, static_cast<std::uint8_t>(16 + i), 0, 0};
    report.machine.gpus.push_back(gpu);
  }
  report.machine.gpus[1].excluded = true;
  Finding finding;
  finding.id = "driver-not-bound";
  finding.title = "No driver is bound";
  finding.gpus = {1};
  finding.pci = {*report.machine.gpus[1].pci};
  report.findings = {finding};
  return report;
}

std::vector<AcceptRule> rules(const std::string& text) { return *parse_accept_rules({text}); }

TEST(Accept, WhatIsNamedDoesNotCountAndStaysInTheDocument) {
  for (const char* rule :
       {"driver-not-bound", "driver-not-bound@1", "driver-not-bound@0000:11:00.0"}) {
    Report report = two_gpus();
    conclude(report, {});
    EXPECT_EQ(report.exit, Exit::unhealthy);
    report = two_gpus();
    accept_findings(rules(rule), report);
    note_accepted(rules(rule), report);
    conclude(report, {});
    EXPECT_EQ(report.exit, Exit::ok) << rule << report.conclusion.value_or("");
    EXPECT_TRUE(report.findings->empty());
    ASSERT_EQ(report.accepted.size(), 1u);
    EXPECT_EQ(to_json(report)["accepted"][0]["id"], "driver-not-bound");
    ASSERT_EQ(report.notes.size(), 1u);
    EXPECT_EQ(report.notes[0],
              std::string("Accepted, as asked by --accept ") + rule + ": No driver is bound.");
    EXPECT_TRUE(is_set_aside(report, report.machine.gpus[1]));
    EXPECT_FALSE(is_set_aside(report, report.machine.gpus[0]));
  }
}

TEST(Accept, OfAFindingAboutSeveralGpusTheOthersPartStays) {
  Report report = two_gpus();
  report.findings->front().gpus = {0, 1};
  report.findings->front().pci.clear();
  accept_findings(rules("driver-not-bound@1"), report);
  ASSERT_EQ(report.findings->size(), 1u);
  EXPECT_EQ(report.findings->front().gpus, std::vector<int>{0});
  EXPECT_EQ(report.accepted.at(0).gpus, std::vector<int>{1});
}

// A device that no driver shows is named by its address only.
TEST(Accept, AFindingOfADeviceThatIsNoGpuHereIsAcceptedByItsAddress) {
  const auto accepted = [](const char* rule) {
    Report report = two_gpus();
    report.findings->front().gpus.clear();
    report.findings->front().pci = {PciAddress{0, 0x99, 0, 0}};
    accept_findings(rules(rule), report);
    return report.findings->empty() && report.accepted.size() == 1;
  };
  EXPECT_TRUE(accepted("driver-not-bound@0000:99:00.0"));
  EXPECT_FALSE(accepted("driver-not-bound@0000:11:00.0"));
  EXPECT_FALSE(accepted("driver-not-bound@1"));
}

TEST(Accept, ObligationsAreAcceptedByTheirNamesOnTheirDevices) {
  const auto accepted =
      accepted_obligations(*parse_accept_rules({"clock", "driver-not-bound@1", "integrity@0"}));
  ASSERT_EQ(accepted.size(), 2u);
  EXPECT_EQ(accepted[0].kind, ObligationKind::clock);
  EXPECT_EQ(accepted[0].devices, std::vector<std::string>{});
  EXPECT_EQ(accepted[1].kind, ObligationKind::integrity);
  EXPECT_EQ(accepted[1].devices, std::vector<std::string>{"0"});
}

TEST(Accept, ARuleThatFitsNothingIsTold) {
  for (const char* rule : {"driver-not-bound@0", "pcie-link-degraded"}) {
    Report report = two_gpus();
    accept_findings(rules(rule), report);
    note_accepted(rules(rule), report);
    EXPECT_EQ(report.findings->size(), 1u);
    EXPECT_EQ(report.notes.at(0),
              std::string("--accept ") + rule + ": there is no such finding here.");
  }
}

// A policy's rules hold for many machines, so one that fits nothing here is not worth a note.
TEST(Accept, ARuleOfAPolicyIsNotedWithItsReasonIfItFits) {
  for (const auto& [text, notes] :
       {std::pair("driver-not-bound@1",
                  std::vector<std::string>{
                      "Accepted, as asked by policy.toml (spare): No driver is bound."}),
        {"driver-not-bound@0", {}}}) {
    auto policy = rules(text);
    policy[0].because = "policy.toml (spare)";
    Report report = two_gpus();
    accept_findings(policy, report);
    note_accepted(policy, report);
    EXPECT_EQ(report.notes, notes) << text;
  }
}

TEST(Accept, ADeviceIsNamedAsInEveryCommand) {
  Machine machine = two_gpus().machine;
  machine.gpus[0].uuid = "GPU-11";
  machine.gpus[1].uuid = "GPU-12";
  machine.gpus[1].name = "NVIDIA L4";
  using Devices = std::vector<std::string>;
  for (const auto& [device, found] : {std::pair<std::string, Devices>{"1", {"0000:11:00.0"}},
                                      {"GPU-11", {"0000:10:00.0"}},
                                      {"L4", {"0000:11:00.0"}},
                                      {"0000:99:00.0", {"0000:99:00.0"}}}) {
    const auto rule = on_machine(rules("clock@" + device).front(), machine);
    ASSERT_TRUE(rule) << device;
    EXPECT_EQ(rule->devices, found) << device;
    EXPECT_EQ(rule->text, "clock@" + device);
  }
  for (const auto& [device, why] :
       {std::pair<std::string, std::string>{"2", "no such GPU here"}, {"GPU-1", "several GPUs"}}) {
    const auto rule = on_machine(rules("clock@" + device).front(), machine);
    ASSERT_FALSE(rule) << device;
    EXPECT_TRUE(contains(rule.error().message, "clock of " + device)) << rule.error().message;
    EXPECT_TRUE(contains(rule.error().message, why)) << rule.error().message;
  }
}

TEST(Accept, WhatIsNoRuleIsRefused) {
  for (const char* text : {"", "@0", "driver-not-bound@", "No driver"})
    EXPECT_FALSE(parse_accept_rules({text})) << text;
}

TEST(Accept, AnIdThatNoFindingHasIsRefusedAndTheNearestNamed) {
  for (const char* id : {"xid-79", "unseen", "pci-bus-unreadable", "slower-than-siblings",
                         "differs-from-siblings", "gpu-lost", "nouveau-bound"})
    EXPECT_TRUE(parse_accept_rules({id})) << id;
  for (const auto& [id, hint] : {std::pair{"nouvau-bound", "; did you mean nouveau-bound?"},
                                 {"slower-then-siblings", "; did you mean slower-than-siblings?"},
                                 {"xid-", "; did you mean xid-N?"},
                                 {"frobnicate", ""}}) {
    const auto rule = parse_accept_rules({id + std::string("@0")});
    ASSERT_FALSE(rule) << id;
    EXPECT_TRUE(contains(rule.error().message, "no finding or obligation " + std::string(id)))
        << rule.error().message;
    EXPECT_TRUE(rule.error().message.ends_with(id + std::string(hint))) << rule.error().message;
  }
}

}  // namespace
}  // namespace gpuready
