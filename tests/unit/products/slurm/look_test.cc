#include "slurm/look.h"

#include <gtest/gtest.h>

#include "report/conclude.h"
#include "unit/report/healthy.h"

namespace gpuready::slurm {
namespace {

Report report_of(int gpus) {
  Report report = healthy(gpus);
  report.command = "doctor";
  report.verdicts.reset();
  report.findings.emplace();
  for (Gpu& gpu : report.machine.gpus) {
    gpu.minor_number = 7 - gpu.index;
    gpu.pci = PciAddress{0, static_cast<std::uint8_t>(0x10 + gpu.index), 0, 0};
  }
  return report;
}

TEST(SlurmLook, HasEachGpuWithItsComputingProcesses) {
  Report report = report_of(2);
  report.machine.gpus[1].integrated = true;
  report.machine.gpus[1].mig_enabled = true;
  report.machine.gpus[0].processes = {
      {41, {}, {}, "compute"}, {42, {}, {}, "graphics"}, {43, {}, {}, "compute"}};
  conclude(report, {});
  const Look look = look_of(report);
  EXPECT_EQ(look.exit, report.exit);
  EXPECT_EQ(look.conclusion, report.conclusion.value_or("none"));
  ASSERT_EQ(look.gpus.size(), 2u);
  EXPECT_EQ(look.gpus[0].index, 0);
  EXPECT_EQ(look.gpus[0].minor_number, 7);
  EXPECT_EQ(look.gpus[0].uuid, report.machine.gpus[0].uuid);
  EXPECT_EQ(look.gpus[0].pci, report.machine.gpus[0].pci);
  EXPECT_FALSE(look.gpus[0].integrated);
  EXPECT_FALSE(look.gpus[0].mig);
  EXPECT_TRUE(look.gpus[0].given);
  EXPECT_EQ(look.gpus[0].pids, (std::vector<std::uint32_t>{41, 43}));
  EXPECT_EQ(look.gpus[1].minor_number, 6);
  EXPECT_TRUE(look.gpus[1].integrated);
  EXPECT_TRUE(look.gpus[1].mig);
  EXPECT_TRUE(look.gpus[1].pids.empty());
}

TEST(SlurmLook, HasErrorsAndNoOtherFindings) {
  Report report = report_of(2);
  for (const Severity severity : {Severity::info, Severity::warning, Severity::error}) {
    Finding& finding = report.findings->emplace_back();
    finding.id = "xid-79", finding.title = "Fell off", finding.severity = severity;
    finding.action = Action::power_cycle, finding.gpus = {1};
  }
  conclude(report, {});
  const Look look = look_of(report);
  ASSERT_EQ(look.findings.size(), 1u);
  EXPECT_EQ(look.findings[0].id, "xid-79");
  EXPECT_EQ(look.findings[0].concerns, "GPU 1");
  EXPECT_EQ(look.findings[0].title, "Fell off");
  EXPECT_EQ(look.findings[0].action, Action::power_cycle);
  EXPECT_EQ(look.findings[0].gpus, std::vector<int>{1});
  EXPECT_TRUE(look.gpus[0].usable);
  EXPECT_EQ(look.gpus[0].reason, "");
  EXPECT_FALSE(look.gpus[1].usable);
  EXPECT_TRUE(look.gpus[1].given);
  EXPECT_NE(look.gpus[1].reason, "");
  report.findings.reset();
  EXPECT_TRUE(look_of(report).findings.empty());
}

TEST(SlurmLook, IsReadBackAsItWasPrinted) {
  Report report = report_of(1);
  conclude(report, {});
  const std::string text = look_text(look_of(report));
  const auto read = parse_look(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(look_text(*read), text);
  EXPECT_FALSE(parse_look("[]"));
  EXPECT_FALSE(parse_look(""));
}

}  // namespace
}  // namespace gpuready::slurm
