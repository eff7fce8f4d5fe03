#include "cli/gpu_test_result.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "doctor/diagnose.h"

namespace gpuready::cli {
namespace {

Gpu nvidia_gpu(int bus) {
  Gpu gpu;
  gpu.vendor = Vendor::nvidia;
  gpu.pci = PciAddress{0, static_cast<std::uint8_t>(bus), 0, 0};
  gpu.name = "NVIDIA H100";
  gpu.uuid = "GPU-" + std::to_string(bus);
  return gpu;
}

// The bus shows `gpus`; NVML lists those of `given`, in this order.
Machine machine_with(int gpus, const std::vector<int>& given) {
  Machine machine;
  machine.system.kernel_release = "6.8.0";
  machine.nvidia.cuda_version = "12.4";
  machine.nvidia.nvml_start = ApiStatus{"nvmlInit_v2()", 0, ""};
  machine.nvidia.nvml_device_count = static_cast<int>(given.size());
  for (int i = 0; i < gpus; ++i) {
    machine.gpus.push_back(nvidia_gpu(i));
    machine.gpus.back().index = i;
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i] >= 0)
      machine.gpus[static_cast<std::size_t>(given[i])].nvml_index = static_cast<int>(i);
  return machine;
}

Verdict memory_verdict(const Gpu& gpu, VerdictStatus status, std::string reason = "ok") {
  Verdict verdict;
  verdict.test = "memory";
  verdict.uuid = gpu.uuid;
  verdict.status = status;
  verdict.reason = std::move(reason);
  return verdict;
}

Obligation obligation(ObligationKind kind, ObligationStatus status, Duty duty = Duty::owed) {
  Obligation out;
  out.kind = kind;
  out.status = status;
  out.duty = duty;
  out.reason = "x8 of x16, an error";
  return out;
}

// Concluded: every GPU holds what it owes.
Report report_of(Machine machine, std::vector<Verdict> verdicts) {
  Report report;
  report.findings.emplace();
  report.verdicts = std::move(verdicts);
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    report.obligations.push_back({obligation(ObligationKind::integrity, ObligationStatus::held)});
  report.machine = std::move(machine);
  return report;
}

TEST(GpuTestResult, AContainerPassesForTheTwoOfEightThatItWasGiven) {
  const Machine machine = machine_with(8, {3, 5});
  const auto result =
      gpu_test_result(report_of(machine, {memory_verdict(machine.gpus[3], VerdictStatus::passed),
                                          memory_verdict(machine.gpus[5], VerdictStatus::passed)}));
  ASSERT_EQ(result.gpus.size(), 2u);
  EXPECT_EQ(result.gpus[1].uuid, "GPU-5");
  EXPECT_TRUE(gpu_test_passed(result));
}

TEST(GpuTestResult, GpusThatTheCallerHidesAreLeftOut) {
  Machine machine = machine_with(3, {0, 1, 2});
  machine.visibility.cuda_visible_devices = "1";
  for (Gpu& gpu : machine.gpus) gpu.visible_to_cuda = gpu.index == 1;
  const auto result =
      gpu_test_result(report_of(machine, {memory_verdict(machine.gpus[1], VerdictStatus::passed)}));
  ASSERT_EQ(result.gpus.size(), 1u);
  EXPECT_EQ(result.gpus[0].uuid, "GPU-1");
  EXPECT_TRUE(gpu_test_passed(result));
}

// Broken, or owed and not judged, fails; hidden for good and degraded pass, and the latter is noted
// without a word that the caller takes for a failure.
TEST(GpuTestResult, AGpuThatPassedIsHeldToWhatItOwes) {
  using enum ObligationStatus;
  struct {
    ObligationStatus status;
    Duty duty;
    bool passed;
  } const cases[] = {{held, Duty::owed, true},         {broken, Duty::owed, false},
                     {broken, Duty::not_owed, false},  {not_judged, Duty::owed, false},
                     {not_judged, Duty::hidden, true}, {not_judged, Duty::not_owed, true},
                     {degraded, Duty::owed, true}};
  const Machine machine = machine_with(1, {0});
  for (const auto& [status, duty, passed] : cases) {
    Report report = report_of(machine, {memory_verdict(machine.gpus[0], VerdictStatus::passed)});
    report.obligations[0].push_back(obligation(ObligationKind::host_link, status, duty));
    const auto result = gpu_test_result(report);
    EXPECT_EQ(gpu_test_passed(result), passed) << gpu_test_text(result);
    EXPECT_EQ(contains(gpu_test_text(result), "error"), !passed) << gpu_test_text(result);
    EXPECT_EQ(contains(gpu_test_text(result), "GPU 0 note: host link degraded: x8 of x16"),
              status == degraded)
        << gpu_test_text(result);
  }
}

TEST(GpuTestResult, AGpuThatTheDoctorBlamesFailsAndOneThatNothingJudgedDoes) {
  Machine machine = machine_with(1, {0});
  Report report = report_of(machine, {memory_verdict(machine.gpus[0], VerdictStatus::passed)});
  report.obligations.clear();
  EXPECT_EQ(gpu_test_result(report).gpus[0].failure->text, "nothing was judged");
  report.machine.gpus[0].nvlinks.resize(18);
  for (int link = 0; link < 18; ++link) {
    report.machine.gpus[0].nvlinks[static_cast<std::size_t>(link)].link = link;
    report.machine.gpus[0].nvlinks[static_cast<std::size_t>(link)].up = false;
  }
  report.machine.kernel_log.xids.push_back({});
  report.machine.kernel_log.xids.back().code = 74;
  report.machine.kernel_log.xids.back().pci = machine.gpus[0].pci;
  report = report_of(report.machine, *report.verdicts);
  EXPECT_TRUE(gpu_test_passed(gpu_test_result(report)));
  report.findings = diagnose(report.machine);
  const auto result = gpu_test_result(report);
  EXPECT_TRUE(contains(gpu_test_text(result), "NVLinks are up")) << gpu_test_text(result);
}

TEST(GpuTestResult, WhatPassesThroughANamedLibraryFailsUnlessItIsTrusted) {
  Machine machine = machine_with(1, {0});
  machine.named_libraries = {{"GPUREADY_LIBCUDA", "/opt/libcuda.so"}};
  const std::vector<Verdict> passed = {memory_verdict(machine.gpus[0], VerdictStatus::passed)};
  const auto result = gpu_test_result(report_of(machine, passed));
  EXPECT_FALSE(gpu_test_passed(result));
  EXPECT_NE(gpu_test_text(result).find("GPUREADY_LIBCUDA=/opt/libcuda.so"), std::string::npos);
  const auto trusted = gpu_test_result(report_of(machine, passed), true);
  EXPECT_TRUE(gpu_test_passed(trusted));
  EXPECT_NE(gpu_test_text(trusted).find("GPUREADY_LIBCUDA=/opt/libcuda.so"), std::string::npos);
}

TEST(GpuTestResult, ALostGpuKeepsItsIndexAndNvmlsCode) {
  Machine machine = machine_with(4, {0, -1, 2, 3});
  machine.gpus[1].errors.push_back(
      {"nvmlDeviceGetHandleByPciBusId_v2(0000:01:00.0)", 15, "NVML_ERROR_GPU_IS_LOST"});
  const auto result = gpu_test_result(report_of(machine, {}));
  ASSERT_EQ(result.gpus.size(), 4u);
  ASSERT_TRUE(result.gpus[1].handle_failure);
  EXPECT_EQ(result.gpus[1].handle_failure->code, 15);
  EXPECT_FALSE(result.gpus[2].handle_failure);
  EXPECT_EQ(result.gpus[3].uuid, "GPU-3");
}

// nvml.h: 4: no permission, 15: lost. Only what NVML itself refused can have the free index.
TEST(GpuTestResult, AnIndexWithoutAHandleIsOfTheFirstGpuThatNvmlRefused) {
  const auto code = [](auto&& change) {
    Machine machine = machine_with(3, {0, -1});
    machine.gpus[1].errors = {{"cuDeviceGet(1)", 101, ""},
                              {"nvmlDeviceGetHandleByIndex(1)", 4, ""}};
    machine.gpus[2].errors = {{"nvmlDeviceGetHandleByIndex(2)", 15, ""}};
    change(machine.gpus[1]);
    const auto result = gpu_test_result(report_of(machine, {}));
    EXPECT_EQ(result.gpus.size(), 2u);
    return result.gpus.at(1).handle_failure->code;
  };
  EXPECT_EQ(code([](Gpu&) {}), 4);
  EXPECT_EQ(code([](Gpu& gpu) { gpu.pci = PciAddress{0, 3, 0, 0}; }), 15) << "by address";
  EXPECT_EQ(code([](Gpu& gpu) { gpu.vendor = Vendor::amd; }), 15);
  EXPECT_EQ(code([](Gpu& gpu) { gpu.faked = true; }), 15);
  EXPECT_EQ(code([](Gpu& gpu) { gpu.excluded = true; }), 15);
  EXPECT_EQ(code([](Gpu& gpu) { gpu.excluded = false; }), 4);
  EXPECT_EQ(code([](Gpu& gpu) { gpu.errors.pop_back(); }), 15) << "CUDA's, not NVML's";
  EXPECT_EQ(code([](Gpu& gpu) { gpu.errors.clear(); }), 15);
  const auto nobodys = gpu_test_result(report_of(machine_with(2, {0, -1}), {}));
  EXPECT_EQ(nobodys.gpus.at(1).handle_failure->code, 999);
}

TEST(GpuTestResult, FailuresHaveCudasNumberOrAreUnknown) {
  const Machine machine = machine_with(2, {0, 1});
  Verdict refused = memory_verdict(machine.gpus[0], VerdictStatus::not_tested, "(allocate)");
  refused.error_code = 2;
  const auto result = gpu_test_result(report_of(
      machine,
      {refused, memory_verdict(machine.gpus[1], VerdictStatus::failed, "1 word is wrong")}));
  EXPECT_EQ(result.gpus[0].failure->code, 2);
  EXPECT_TRUE(contains(result.gpus[0].failure->text, "CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_EQ(result.gpus[1].failure->code, 999);
  EXPECT_EQ(result.gpus[1].failure->text, "1 word is wrong");
}

TEST(GpuTestResult, CudasVersionHasTwoNumbers) {
  const auto number = [](std::optional<std::string> version) {
    Machine machine = machine_with(1, {0});
    machine.nvidia.cuda_version = std::move(version);
    return gpu_test_result(report_of(machine, {})).cuda_version;
  };
  EXPECT_EQ(number("12.4"), 12040);
  EXPECT_EQ(number("12.4.1"), 12040);
  EXPECT_EQ(number("12"), std::nullopt);
  EXPECT_EQ(number("new"), std::nullopt);
  EXPECT_EQ(number(std::nullopt), std::nullopt);
}

// The library's own error, else where its child stopped, else that there was no answer.
TEST(GpuTestResult, ALibraryThatDoesNotStartSaysWhy) {
  const auto result = [](auto&& change) {
    Machine machine = machine_with(1, {0});
    machine.nvidia.nvml_start.reset();
    change(machine.nvidia);
    return gpu_test_result(report_of(machine, {}));
  };
  const auto absent = result([](NvidiaDriver&) {});
  EXPECT_EQ(absent.nvml_failure, "NVML gave no answer: no NVIDIA driver is here");
  EXPECT_EQ(absent.cuda_failure.text, "the CUDA driver gave no answer: no driver is here");
  EXPECT_EQ(absent.cuda_failure.code, 999);
  EXPECT_TRUE(absent.gpus.empty());
  const auto stopped = result([](NvidiaDriver& nvidia) {
    nvidia.nvml_outcome = nvidia.cuda_outcome = "timed out";
    nvidia.nvml_stopped_in = "nvmlInit_v2()";
    nvidia.cuda_stopped_in = "cuInit(0)";
  });
  EXPECT_EQ(stopped.nvml_failure, "timed out in nvmlInit_v2()");
  EXPECT_EQ(stopped.cuda_failure.text, "timed out in cuInit(0)");
  const auto crashed =
      result([](NvidiaDriver& nvidia) { nvidia.nvml_outcome = nvidia.cuda_outcome = "crashed"; });
  EXPECT_EQ(crashed.nvml_failure, "NVML gave no answer: crashed");
  EXPECT_EQ(crashed.cuda_failure.text, "the CUDA driver gave no answer: crashed");
  const auto refused = result([](NvidiaDriver& nvidia) {
    nvidia.nvml_start = ApiStatus{"nvmlInit_v2()", 18, ""};  // another version of the library
    nvidia.cuda_start = ApiStatus{"cuInit(0)", 803, ""};
    nvidia.nvml_outcome = nvidia.cuda_outcome = "ok";
  });
  EXPECT_TRUE(refused.nvml_failure->starts_with("NVML_ERROR_LIB_RM_VERSION_MISMATCH: "))
      << *refused.nvml_failure;
  EXPECT_EQ(refused.cuda_failure.code, 803);
  EXPECT_TRUE(refused.cuda_failure.text.starts_with("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: "))
      << refused.cuda_failure.text;
}

// One MIG instance that failed fails its GPU, and a GPU without a verdict has not passed.
TEST(GpuTestResult, EveryInstanceCountsAndNothingPassesUntested) {
  const Machine machine = machine_with(2, {0, 1});
  Verdict good = memory_verdict(machine.gpus[0], VerdictStatus::passed);
  Verdict bad = memory_verdict(machine.gpus[0], VerdictStatus::failed, "bad instance");
  for (Verdict* verdict : {&good, &bad}) {
    verdict->uuid = "MIG-1";
    verdict->pci_address = machine.gpus[0].pci->text();
  }
  const auto result = gpu_test_result(report_of(machine, {good, bad}));
  EXPECT_EQ(result.gpus[0].failure->text, "bad instance");
  EXPECT_EQ(result.gpus[1].failure->text, "not tested");
}

}  // namespace
}  // namespace gpuready::cli
