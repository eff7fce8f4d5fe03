#include "report/ignore.h"

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
  finding.id = "no-driver";
  finding.title = "No driver is bound";
  finding.gpus = {1};
  finding.pci = {*report.machine.gpus[1].pci};
  report.findings = {finding};
  return report;
}

std::vector<IgnoreRule> rules(const std::string& text) { return *parse_ignore_rules({text}); }

TEST(Ignore, WhatIsNamedDoesNotCountAndStaysInTheDocument) {
  for (const char* rule : {"no-driver", "no-driver@1", "no-driver@0000:11:00.0"}) {
    Report report = two_gpus();
    conclude(report, {});
    EXPECT_EQ(report.exit, Exit::unhealthy);
    report = two_gpus();
    ignore_findings(rules(rule), report);
    note_ignored(rules(rule), report);
    conclude(report, {});
    EXPECT_EQ(report.exit, Exit::ok) << rule << report.conclusion.value_or("");
    EXPECT_TRUE(report.findings->empty());
    ASSERT_EQ(report.ignored.size(), 1u);
    EXPECT_EQ(to_json(report)["ignored"][0]["id"], "no-driver");
    ASSERT_EQ(report.notes.size(), 1u);
    EXPECT_EQ(report.notes[0],
              std::string("Ignored, as asked by --ignore ") + rule + ": No driver is bound.");
    EXPECT_TRUE(is_ignored(report, report.machine.gpus[1]));
    EXPECT_FALSE(is_ignored(report, report.machine.gpus[0]));
  }
}

TEST(Ignore, OfAFindingAboutSeveralGpusTheOthersPartStays) {
  Report report = two_gpus();
  report.findings->front().gpus = {0, 1};
  report.findings->front().pci.clear();
  ignore_findings(rules("no-driver@1"), report);
  ASSERT_EQ(report.findings->size(), 1u);
  EXPECT_EQ(report.findings->front().gpus, std::vector<int>{0});
  EXPECT_EQ(report.ignored.at(0).gpus, std::vector<int>{1});
}

TEST(Ignore, ARuleThatFitsNothingIsTold) {
  for (const char* rule : {"no-driver@0", "pcie-link-degraded"}) {
    Report report = two_gpus();
    ignore_findings(rules(rule), report);
    note_ignored(rules(rule), report);
    EXPECT_EQ(report.findings->size(), 1u);
    EXPECT_EQ(report.notes.at(0),
              std::string("--ignore ") + rule + ": there is no such finding here.");
  }
}

TEST(Ignore, WhatIsNoRuleIsRefused) {
  for (const char* text : {"", "@0", "no-driver@", "No driver"})
    EXPECT_FALSE(parse_ignore_rules({text})) << text;
}

}  // namespace
}  // namespace gpuready
