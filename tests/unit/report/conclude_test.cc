#include "report/conclude.h"

#include <gtest/gtest.h>

#include "report/summary.h"
#include "unit/report/healthy.h"

namespace gpuready {
namespace {

Exit exit_of(Report report, std::optional<int> required = std::nullopt) {
  conclude(report, {required});
  return report.exit;
}

Finding error_about(int gpu) {
  Finding finding;
  finding.id = "some-cause";
  finding.severity = Severity::error;
  finding.title = "Something is wrong";
  finding.gpus = {gpu};
  return finding;
}

TEST(Conclude, AllPassedIsZero) {
  auto report = healthy(2);
  conclude(report, {2});
  EXPECT_EQ(report.exit, Exit::ok);
  EXPECT_EQ(report.conclusion, "2 of 2 GPUs are ready for work.");
}

TEST(Conclude, AFailedTestIsOneAndNamed) {
  auto report = healthy(2);
  report.verdicts->at(1).status = VerdictStatus::failed;
  conclude(report, {});
  EXPECT_EQ(report.exit, Exit::unhealthy);
  EXPECT_EQ(report.conclusion, "1 of 2 GPUs is ready for work: GPU 1 failed the memory test.");
}

TEST(Conclude, NotTestedIsNeverPassed) {
  for (const auto status : {VerdictStatus::not_tested, VerdictStatus::not_supported,
                            VerdictStatus::timed_out, VerdictStatus::inconclusive}) {
    auto report = healthy(1);
    report.verdicts->at(0).status = status;
    EXPECT_EQ(exit_of(report), Exit::unknown) << to_string(status);
  }
  auto report = healthy(1);
  report.verdicts->clear();
  EXPECT_EQ(exit_of(report), Exit::unknown) << "no verdict at all";
  auto none = healthy(0);
  none.verdicts->clear();
  conclude(none, {.devices = {"cuda"}});
  EXPECT_EQ(none.exit, Exit::unknown) << "asked for, and not there";
}

TEST(Conclude, WhatIsRequiredIsNotJudgedWithoutAGpu) {
  auto host = healthy(1);
  host.command = "check";
  host.machine.gpus.clear();
  host.verdicts->at(0).subject = "the host";
  EXPECT_EQ(exit_of(host), Exit::ok);
  const std::vector kinds = {ObligationKind::coverage, ObligationKind::host_link};
  conclude(host, {.asked = {.required = kinds}});
  EXPECT_EQ(host.exit, Exit::unknown);
  EXPECT_TRUE(host.conclusion->ends_with(" Required and not judged: coverage, host_link."))
      << *host.conclusion;
  auto judged = healthy(1);
  conclude(judged, {.asked = {.required = {ObligationKind::integrity}}});
  EXPECT_EQ(judged.exit, Exit::ok) << *judged.conclusion;
  auto untested = healthy(1);
  conclude(untested, {.test_gpus = false, .asked = {.required = {ObligationKind::integrity}}});
  EXPECT_EQ(untested.exit, Exit::unknown) << *untested.conclusion;
}

TEST(Conclude, WithoutAGpuTheHostIsNamedOnlyIfItPassed) {
  auto host = healthy(1);
  host.command = "check";
  host.machine.gpus.clear();
  host.verdicts->at(0).subject = "the host";
  conclude(host, {});
  EXPECT_NE(host.conclusion->find("the host was tested instead and passed"), std::string::npos)
      << *host.conclusion;
  for (const bool untested : {false, true}) {
    auto other = host;
    if (untested)
      other.verdicts->clear();
    else
      other.verdicts->at(0).status = VerdictStatus::failed;
    conclude(other, {});
    EXPECT_EQ(other.conclusion->find("was tested instead"), std::string::npos) << *other.conclusion;
  }
}

Verdict verdict_about(const Report& report, std::string test, VerdictStatus status) {
  Verdict verdict = report.verdicts->at(0);
  verdict.test = std::move(test);
  verdict.status = status;
  verdict.reason = "for a reason";
  return verdict;
}

// The driver refused the code of one: whatever else passed, the GPU is not ready.
TEST(Conclude, WithoutMemoryOrComputeNoGpuIsReady) {
  for (const char* core : {"memory", "compute"})
    for (const auto status : {VerdictStatus::failed, VerdictStatus::not_tested,
                              VerdictStatus::not_supported, VerdictStatus::inconclusive}) {
      auto report = healthy(1);
      for (Verdict& verdict : *report.verdicts)
        if (verdict.test == core) verdict.status = status;
      conclude(report, {});
      EXPECT_EQ(report.exit, status == VerdictStatus::failed ? Exit::unhealthy : Exit::unknown);
      EXPECT_EQ(summarize(report).ready, 0) << core << to_string(status);
      EXPECT_TRUE(report.conclusion->starts_with("0 of 1 GPU")) << *report.conclusion;
    }
}

TEST(Conclude, WhatIsDerivedFromOtherFiguresProvesNothing) {
  auto report = healthy(1);
  *report.verdicts = {verdict_about(report, "clocks", VerdictStatus::passed)};
  report.verdicts->push_back(verdict_about(report, "tensor", VerdictStatus::not_supported));
  EXPECT_EQ(exit_of(report), Exit::unknown);
  EXPECT_EQ(summarize(report).ready, 0);
}

TEST(Conclude, WhatNoDeviceOfItsKindHasIsNotMissing) {
  auto report = healthy(1);
  report.verdicts->push_back(verdict_about(report, "tensor", VerdictStatus::not_supported));
  conclude(report, {});
  EXPECT_EQ(report.exit, Exit::ok);
  EXPECT_TRUE(report.conclusion->starts_with("1 of 1 GPU is ready for work"));
}

TEST(Conclude, PartsThatWereNotJudgedAreInTheHeadline) {
  auto report = healthy(2);
  report.verdicts->at(1).not_judged = {"fp8 e4m3 mma: needs PTX 8.4", "fp8 e5m2 mma: the same"};
  conclude(report, {});
  EXPECT_EQ(report.exit, Exit::ok);
  EXPECT_EQ(report.conclusion,
            "2 of 2 GPUs are ready for work; not judged: fp8 e4m3 mma, fp8 e5m2 mma (GPU 1).");
}

TEST(Conclude, AFewTestsByNameMakeNoGpuReady) {
  auto report = healthy(1);
  report.command = "test";
  report.verdicts->resize(1);
  conclude(report, {.asked = {.tests = {"memory"}}});
  EXPECT_EQ(report.exit, Exit::ok);
  EXPECT_EQ(report.conclusion, "1 of 1 GPU passed the tests that were asked for.");
}

TEST(Conclude, ALibraryThatAVariableNamesProvesNothing) {
  for (const char* command : {"check", "test", "doctor", "detect"}) {
    auto report = healthy(1);
    report.command = command;
    report.machine.named_libraries = {{"GPUREADY_LIBCUDA", "/opt/libcuda.so"}};
    conclude(report, {});
    EXPECT_EQ(report.exit, command == std::string("detect") ? Exit::ok : Exit::unknown) << command;
    EXPECT_EQ(summarize(report).ready, 0) << command;
    EXPECT_EQ(summarize(report).gpus[0].state, GpuState::not_proven);
    EXPECT_EQ(report.conclusion->find("ready"), std::string::npos) << *report.conclusion;
    for (const std::string& text :
         {render_terminal(report, {}), render_markdown(report), render_html(report),
          render_prometheus(report), to_json(report).dump()})
      EXPECT_NE(text.find("/opt/libcuda.so"), std::string::npos) << text;
    conclude(report, {.trust_named_libraries = true});
    EXPECT_EQ(report.exit, Exit::ok) << command;
    EXPECT_NE(report.conclusion->find("GPUREADY_LIBCUDA=/opt/libcuda.so"), std::string::npos);
  }
  auto none = healthy(0);
  none.machine.named_libraries = {{"GPUREADY_LIBCUDA", "/opt/libcuda.so"}};
  EXPECT_EQ(exit_of(none), Exit::unknown) << "nothing is proven";
}

TEST(Conclude, AnErrorFindingIsOneEvenWhenTheTestPassed) {
  auto report = healthy(1);
  report.findings->push_back(error_about(0));
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
}

TEST(Conclude, WithoutTheBusNoGpuIsNotKnownToBeAbsent) {
  for (const char* command : {"detect", "doctor", "check"}) {
    Report report;
    report.command = command;
    report.findings.emplace();
    report.machine.unseen.push_back({"/sys/bus/pci/devices", "/sys is not mounted, or is empty"});
    conclude(report, {});
    EXPECT_EQ(report.exit, Exit::unknown) << command;
    EXPECT_TRUE(
        report.conclusion.value_or("").starts_with("Cannot tell whether this machine has a GPU"))
        << command;
  }
}

TEST(Conclude, AWarningIsNoFailure) {
  auto report = healthy(1);
  report.findings->push_back(error_about(0));
  report.findings->at(0).severity = Severity::warning;
  conclude(report, {});
  EXPECT_EQ(report.exit, Exit::ok);
  EXPECT_EQ(report.conclusion, "1 of 1 GPU is ready for work; warning: Something is wrong.");
}

TEST(Conclude, WhatIsRequiredAndAbsentIsThree) {
  EXPECT_EQ(exit_of(healthy(1), 2), Exit::required_absent);
  EXPECT_EQ(exit_of(healthy(0), 1), Exit::required_absent);
  auto report = healthy(1);
  report.findings->push_back(error_about(0));
  report.findings->at(0).id = "expected-gpu-count";
  EXPECT_EQ(exit_of(report, 2), Exit::required_absent);
}

TEST(Conclude, AFakedGpuIsNotThere) {
  auto report = healthy(1);
  report.machine.fakes = {"cuda"};
  report.machine.gpus[0].faked = true;
  report.verdicts->at(0).status = VerdictStatus::not_tested;
  EXPECT_EQ(exit_of(report, 1), Exit::required_absent);
}

TEST(Conclude, AnInjectedFaultIsOneEvenWhenNothingWasFound) {
  auto report = healthy(1);
  report.verdicts->at(0).injected_fault = "bitflip";
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
}

TEST(Conclude, AGpuOnTheBusWithoutADriverIsUnhealthy) {
  auto report = healthy(1);
  report.command = "detect";
  report.findings.reset();
  report.verdicts.reset();
  report.machine.gpus[0].pci = parse_pci_address("0000:01:00.0");
  report.machine.gpus[0].driver.reset();
  report.machine.pci.emplace_back().address = *report.machine.gpus[0].pci;
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
}

TEST(Conclude, ADriverThatRefusesToStartIsUnhealthy) {
  auto report = healthy(1);
  report.machine.nvidia.nvml_start =
      ApiStatus{"nvmlInit_v2()", 18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH"};
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
}

TEST(Conclude, OnlyWhatThisContainerWasGivenCounts) {
  auto report = healthy(8);
  report.command = "doctor";
  report.machine.container.runtime = "docker";
  for (int i = 2; i < 8; ++i) report.machine.gpus[i].nvml_index.reset();
  report.verdicts.reset();
  conclude(report, {2});
  EXPECT_EQ(report.exit, Exit::ok);
  EXPECT_EQ(report.conclusion,
            "Nothing is wrong with the 2 GPUs here. 6 more on the bus are not this container's.");
  conclude(report, {3});
  EXPECT_EQ(report.exit, Exit::required_absent);
  EXPECT_TRUE(report.conclusion->starts_with("Fewer GPUs are usable")) << *report.conclusion;
}

TEST(Conclude, AFoldedErrorCountsAsOne) {
  auto report = healthy(1);
  report.command = "doctor";
  report.findings->push_back(error_about(0));
  report.findings->at(0).severity = Severity::warning;
  report.findings->at(0).explains = {error_about(0)};
  report.verdicts.reset();
  conclude(report, {});
  EXPECT_EQ(report.exit, Exit::unhealthy);
  EXPECT_TRUE(report.conclusion->starts_with("1 error, 0 warnings")) << *report.conclusion;
}

TEST(Conclude, TheWorstFindingIsNamedWhateverItsSeverity) {
  auto report = healthy(1);
  report.command = "doctor";
  report.findings->push_back(error_about(0));
  report.findings->at(0).severity = Severity::warning;
  report.verdicts.reset();
  conclude(report, {});
  EXPECT_EQ(report.exit, Exit::ok);
  EXPECT_EQ(report.conclusion, "0 errors, 1 warning: Something is wrong.");
}

TEST(Conclude, AnErrorAboutTheWholeMachineBlamesNoGpu) {
  auto report = healthy(2);
  report.findings->push_back(error_about(0));
  report.findings->at(0).gpus.clear();
  conclude(report, {2});
  EXPECT_EQ(report.exit, Exit::unhealthy);
  EXPECT_EQ(report.conclusion, "2 of 2 GPUs are ready for work: Something is wrong.");
}

TEST(Conclude, MigInstancesDoNotStandForTheirWholeGpu) {
  auto report = healthy(1);
  Gpu& gpu = report.machine.gpus[0];
  gpu.mig_enabled = true;
  gpu.memory.total_bytes = std::uint64_t{80} << 30;
  gpu.mig.resize(1);
  gpu.mig[0].memory_total_bytes = 10 * GiB;
  report.verdicts->at(0).coverage = Coverage{10 * GiB, 10 * GiB, 10 * GiB, {}};
  conclude(report, {});
  EXPECT_EQ(report.exit, Exit::ok);
  EXPECT_EQ(
      report.conclusion,
      "1 of 1 GPU is ready for work in part (GPU 0 by 1 MIG instance, 10 GiB of its 80 GiB); not "
      "judged: identity.");
  EXPECT_EQ(summarize(report).gpus[0].state, GpuState::in_part);
}

TEST(Conclude, NoGpuAndTheHostPassedIsZeroAndSaysSo) {
  auto report = healthy(0);
  Verdict verdict;
  verdict.test = "memory";
  verdict.subject = "the host";
  verdict.status = VerdictStatus::passed;
  report.verdicts->push_back(verdict);
  conclude(report, {});
  EXPECT_EQ(report.exit, Exit::ok);
  EXPECT_TRUE(report.conclusion->starts_with("No GPU here")) << *report.conclusion;
}

TEST(Conclude, AnEmptyMachineIsNotTakenForAGuestOfHyperV) {
  Report report;
  report.command = "detect";
  conclude(report, {});
  EXPECT_EQ(report.conclusion, "No GPU found.");
}

}  // namespace
}  // namespace gpuready
