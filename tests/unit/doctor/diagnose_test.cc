#include "doctor/diagnose.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "machines.h"

namespace gpuready::test {
namespace {

TEST(Diagnose, HealthyMachineHasNoFindings) {
  EXPECT_EQ(ids(diagnose(healthy())), Ids{});
  EXPECT_EQ(ids(diagnose(healthy(8), {.expected_gpus = 8})), Ids{});
}

TEST(Diagnose, EmptyMachineSaysNoGpuAndNothingIsWrong) {
  const auto findings = diagnose(Machine{});
  ASSERT_EQ(ids(findings), Ids{"no-gpu"});
  EXPECT_EQ(findings[0].severity, Severity::info);
}

TEST(Diagnose, OneRootIsToldAndItsConsequencesAreFoldedUnderIt) {
  auto machine = healthy(2);
  drop_from_nvml(machine, 1);
  fail_cuda(machine, 999, "CUDA_ERROR_UNKNOWN");
  machine.gpus[1].errors.push_back(
      {"nvmlDeviceGetHandleByPciBusId_v2(0000:11:00.0)", 15, "NVML_ERROR_GPU_IS_LOST"});
  xid(machine, 79, 0x11, "GPU has fallen off the bus.");
  const auto findings = diagnose(machine, {.expected_gpus = 2});
  ASSERT_EQ(ids(findings), Ids{"off-the-bus"});
  EXPECT_EQ(findings[0].gpus, std::vector<int>{1});
  EXPECT_EQ(findings[0].severity, Severity::error);
  EXPECT_EQ(ids(findings[0].explains), (Ids{"xid-79", "gpu-not-listed", "cuda-start-failed",
                                            "gpu-call-failed", "expected-gpu-count"}));
}

TEST(Diagnose, TwoIndependentCausesAreBothTold) {
  auto machine = healthy(2);
  machine.gpus[0].link_now.width = 8;
  machine.gpus[1].ecc.since_boot.uncorrected = 3;
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), (Ids{"uncorrectable-ecc", "pcie-link-degraded"}));  // by severity
}

TEST(Diagnose, OneCauseAtSeveralGpusIsToldOnce) {
  auto machine = healthy(4);
  for (auto& gpu : machine.gpus) gpu.mig_enabled = true;
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"mig-without-instances"});
  EXPECT_EQ(findings[0].gpus, (std::vector{0, 1, 2, 3}));
  EXPECT_TRUE(contains(*findings[0].command, "-i 0000:10:00.0"));
  EXPECT_TRUE(contains(*findings[0].command, "-i 0000:13:00.0"));
}

TEST(Diagnose, ConsequencesOfOneGpuAreNotFoldedUnderAnother) {
  auto machine = healthy(2);
  xid(machine, 79, 0x10, "GPU has fallen off the bus.");
  machine.gpus[0].nvml_index.reset();
  xid(machine, 119, 0x11, "Timeout after 6s of waiting for RPC response from GPU1 GSP!");
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), (Ids{"off-the-bus", "gsp-failed"}));
  EXPECT_EQ(findings[1].gpus, std::vector<int>{1});
  EXPECT_EQ(ids(findings[1].explains), Ids{"xid-119"});
}

TEST(Diagnose, QuotesArePrintableAndShort) {
  auto machine = healthy();
  machine.gpus[0].nvml_index.reset();
  log(machine,
      "NVRM: GPU 0000:10:00.0: RmInitAdapter failed! \x1b[31m\x01" + std::string(5000, 'x'));
  const auto findings = diagnose(machine);
  ASSERT_FALSE(findings.empty());
  for (const auto& item : findings[0].evidence) {
    EXPECT_LE(item.quote.size(), 200u);
    EXPECT_EQ(item.quote, printable(item.quote));
    EXPECT_FALSE(contains(item.quote, "\n"));
  }
}

TEST(Diagnose, CommandsNameTheGpuConcerned) {
  auto machine = healthy(2);
  machine.gpus[1].recovery_action = "gpu_reset";
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"reset-required"});
  EXPECT_EQ(findings[0].command, "nvidia-smi --gpu-reset -i 0000:11:00.0");
}

TEST(Diagnose, CommandWithoutItsFactIsLeftOut) {
  auto machine = healthy();
  machine.system.kernel_release.clear();
  machine.nvidia = {};
  machine.gpus[0].driver.reset();
  machine.pci[0].driver.reset();
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"driver-not-loaded"});
  EXPECT_FALSE(findings[0].command);
}

TEST(Diagnose, ARootIsAsSevereAsWhatItExplainsAndTakesTheStrongestCure) {
  auto machine = healthy(2);
  for (auto& gpu : machine.gpus) gpu.nvlinks = {link_at(0, true), link_at(1, true)};
  xid(machine, 74, 0x11, "NVLink: fatal error detected on link 5");
  auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"nvlink-down"});
  EXPECT_EQ(findings[0].severity, Severity::warning);
  machine.gpus[1].recovery_action = "drain_and_reset";
  findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"nvlink-down"});
  EXPECT_EQ(findings[0].severity, Severity::error);
  EXPECT_TRUE(contains(*findings[0].cure, "reset it")) << *findings[0].cure;
  EXPECT_EQ(findings[0].command, "nvidia-smi --gpu-reset -i 0000:11:00.0");
}

// An Xid of a part of the GPU that failed is nearer to the root than what does not start after it;
// an application's is not.
TEST(Diagnose, AnXidThatStopsTheGpuComesBeforeCudaThatDoesNotStart) {
  for (const int code : {38, 109, 13}) {
    auto machine = healthy();
    xid(machine, code, 0x10, "pid=1, name=python3, something");
    fail_cuda(machine, 46, "CUDA_ERROR_DEVICE_UNAVAILABLE");
    const auto findings = diagnose(machine);
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings[0].id, code == 13 ? "cuda-start-failed" : "xid-" + std::to_string(code));
    EXPECT_EQ(findings[0].severity, Severity::error);
  }
}

TEST(Diagnose, GspThatTimedOutIsAnErrorWhereCudaDoesNotStart) {
  auto machine = healthy();
  xid(machine, 119, 0x10, "Timeout after 45s of waiting for RPC response from GPU0 GSP!");
  ASSERT_EQ(ids(diagnose(machine)), Ids{"gsp-failed"});
  EXPECT_EQ(diagnose(machine)[0].severity, Severity::warning);
  fail_cuda(machine, 999, "CUDA_ERROR_UNKNOWN");
  ASSERT_EQ(ids(diagnose(machine)), Ids{"gsp-failed"});
  EXPECT_EQ(diagnose(machine)[0].severity, Severity::error);
}

TEST(Diagnose, HistoryExplainsNoPresentFailure) {
  auto machine = healthy();
  xid(machine, 79, 0x10, "GPU has fallen off the bus.");  // and answers
  fail_cuda(machine, 999, "CUDA_ERROR_UNKNOWN");
  EXPECT_EQ(ids(diagnose(machine)), (Ids{"cuda-start-failed", "off-the-bus"}));
}

TEST(Diagnose, WhatWasChosenIsNoFault) {
  auto machine = healthy(2);
  drop_from_nvml(machine, 1);
  machine.pci[1].driver = machine.gpus[1].driver = "vfio-pci";
  auto findings = diagnose(machine, {.expected_gpus = 1});
  ASSERT_EQ(ids(findings), Ids{"passthrough-bound"});
  EXPECT_EQ(findings[0].severity, Severity::info);
  findings = diagnose(machine, {.expected_gpus = 2});
  ASSERT_EQ(ids(findings), Ids{"passthrough-bound"});
  EXPECT_EQ(ids(findings[0].explains), Ids{"expected-gpu-count"});
}

TEST(Diagnose, FakedGpusCountForNothing) {
  Machine machine;
  machine.fakes = {"cuda"};
  Gpu gpu;
  gpu.faked = true;
  gpu.vendor = Vendor::nvidia;
  machine.gpus.push_back(gpu);
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
  EXPECT_EQ(ids(diagnose(machine, {.expected_gpus = 1})), Ids{"expected-gpu-count"});
}

TEST(Diagnose, TooFewGpusAreNamed) {
  const auto findings = diagnose(healthy(2), {.expected_gpus = 8});
  ASSERT_EQ(ids(findings), Ids{"expected-gpu-count"});
  EXPECT_EQ(findings[0].title, "8 GPUs are required, 2 usable");
  EXPECT_EQ(findings[0].severity, Severity::error);
}

TEST(Diagnose, WhatCouldNotBeSeenIsInfo) {
  auto machine = healthy();
  machine.kernel_log = {};
  machine.unseen.push_back({"kernel log", "Operation not permitted"});
  machine.unseen.push_back({"/proc/driver/nvidia", "not in the recording"});
  const auto findings = diagnose(machine);
  EXPECT_EQ(ids(findings), (Ids{"not-recorded", "kernel-log-unreadable"}));
  for (const auto& finding : findings) EXPECT_EQ(finding.severity, Severity::info);
}

TEST(Diagnose, AmdGpuIsNotBlamedForNvidiasLibraries) {
  Machine machine;
  machine.kernel_log.readable = true;
  machine.amd.module_loaded = machine.amd.kfd_present = true;
  PciDevice device;
  device.address = address(3);
  device.vendor_id = 0x1002;
  device.is_gpu = true;
  device.driver = "amdgpu";
  machine.pci.push_back(device);
  Gpu gpu;
  gpu.vendor = Vendor::amd;
  gpu.pci = device.address;
  gpu.driver = "amdgpu";
  machine.gpus.push_back(gpu);
  machine.nodes.push_back(node_at("/dev/kfd"));
  machine.nvidia.nvml_start = ApiStatus{"nvmlInit_v2()", 9, "NVML_ERROR_DRIVER_NOT_LOADED"};
  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", 100, "CUDA_ERROR_NO_DEVICE"};
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
}

TEST(Diagnose, WhatWasNotRecordedHidesNamedThingsOnce) {
  auto machine = healthy();
  machine.unseen.push_back({"NVML: clocks", "not in the recording"});
  machine.unseen.push_back({"NVML: power", "not in the recording"});
  machine.unseen.push_back({"/etc/hostname", "not in the recording"});
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"not-recorded"});
  EXPECT_TRUE(findings[0].explanation.ends_with(
      "reads. NVML: clocks: Without it, ECC errors, row remapping, NVLinks and slowdowns "
      "cannot be seen."))
      << findings[0].explanation;
}

TEST(Diagnose, OfWhatWasNotRecordedSixPartsAreQuoted) {
  for (const std::size_t count : {5u, 6u, 7u}) {
    auto machine = healthy();
    for (std::size_t i = 0; i < count; ++i)
      machine.unseen.push_back({"/etc/" + std::to_string(i), "not in the recording"});
    const auto findings = diagnose(machine);
    ASSERT_EQ(ids(findings), Ids{"not-recorded"});
    EXPECT_EQ(findings[0].evidence.size(), std::min<std::size_t>(count, 6));
  }
}

TEST(Diagnose, AFindingQuotesAtMostEightPieces) {
  auto machine = healthy(9);
  for (int i = 0; i < 9; ++i) machine.gpus[static_cast<std::size_t>(i)].remapping.pending = true;
  const auto findings = diagnose(machine);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].gpus.size(), 9u);
  EXPECT_EQ(findings[0].evidence.size(), 8u);
}

}  // namespace
}  // namespace gpuready::test
