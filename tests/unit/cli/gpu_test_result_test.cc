#include "cli/gpu_test_result.h"

#include <gtest/gtest.h>

#include "base/text.h"

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

TEST(GpuTestResult, AContainerPassesForTheTwoOfEightThatItWasGiven) {
  const Machine machine = machine_with(8, {3, 5});
  const auto result =
      gpu_test_result(machine, {memory_verdict(machine.gpus[3], VerdictStatus::passed),
                                memory_verdict(machine.gpus[5], VerdictStatus::passed)});
  ASSERT_EQ(result.gpus.size(), 2u);
  EXPECT_EQ(result.gpus[1].uuid, "GPU-5");
  EXPECT_TRUE(gpu_test_passed(result));
}

TEST(GpuTestResult, GpusThatTheCallerHidesAreLeftOut) {
  Machine machine = machine_with(3, {0, 1, 2});
  machine.visibility.cuda_visible_devices = "1";
  for (Gpu& gpu : machine.gpus) gpu.visible_to_cuda = gpu.index == 1;
  const auto result =
      gpu_test_result(machine, {memory_verdict(machine.gpus[1], VerdictStatus::passed)});
  ASSERT_EQ(result.gpus.size(), 1u);
  EXPECT_EQ(result.gpus[0].uuid, "GPU-1");
  EXPECT_TRUE(gpu_test_passed(result));
}

TEST(GpuTestResult, AGpuThatPassedFailsByWhatTheDoctorFinds) {
  Machine machine = machine_with(1, {0});
  const std::vector<Verdict> passed = {memory_verdict(machine.gpus[0], VerdictStatus::passed)};
  machine.gpus[0].clock_event_reasons = 0x4;  // SW power cap
  EXPECT_TRUE(gpu_test_passed(gpu_test_result(machine, passed)));
  machine.gpus[0].clock_event_reasons = 0x80;
  const auto braked = gpu_test_result(machine, passed);
  EXPECT_FALSE(gpu_test_passed(braked));
  EXPECT_TRUE(contains(braked.gpus[0].failure->text, "power brake")) << gpu_test_text(braked);
  machine.gpus[0].clock_event_reasons.reset();
  machine.gpus[0].nvlinks.resize(18);
  for (int link = 0; link < 18; ++link) {
    machine.gpus[0].nvlinks[static_cast<std::size_t>(link)].link = link;
    machine.gpus[0].nvlinks[static_cast<std::size_t>(link)].up = false;
  }
  machine.kernel_log.xids.push_back({});
  machine.kernel_log.xids.back().code = 74;
  machine.kernel_log.xids.back().pci = machine.gpus[0].pci;
  const auto cut_off = gpu_test_result(machine, passed);
  EXPECT_FALSE(gpu_test_passed(cut_off)) << gpu_test_text(cut_off);
}

TEST(GpuTestResult, WhatPassesThroughANamedLibraryFailsUnlessItIsTrusted) {
  Machine machine = machine_with(1, {0});
  machine.named_libraries = {{"GPUREADY_LIBCUDA", "/opt/libcuda.so"}};
  const std::vector<Verdict> passed = {memory_verdict(machine.gpus[0], VerdictStatus::passed)};
  const auto result = gpu_test_result(machine, passed);
  EXPECT_FALSE(gpu_test_passed(result));
  EXPECT_NE(gpu_test_text(result).find("GPUREADY_LIBCUDA=/opt/libcuda.so"), std::string::npos);
  const auto trusted = gpu_test_result(machine, passed, true);
  EXPECT_TRUE(gpu_test_passed(trusted));
  EXPECT_NE(gpu_test_text(trusted).find("GPUREADY_LIBCUDA=/opt/libcuda.so"), std::string::npos);
}

TEST(GpuTestResult, ALostGpuKeepsItsIndexAndNvmlsCode) {
  Machine machine = machine_with(4, {0, -1, 2, 3});
  machine.gpus[1].errors.push_back(
      {"nvmlDeviceGetHandleByPciBusId_v2(0000:01:00.0)", 15, "NVML_ERROR_GPU_IS_LOST"});
  const auto result = gpu_test_result(machine, {});
  ASSERT_EQ(result.gpus.size(), 4u);
  ASSERT_TRUE(result.gpus[1].handle_failure);
  EXPECT_EQ(result.gpus[1].handle_failure->code, 15);
  EXPECT_FALSE(result.gpus[2].handle_failure);
  EXPECT_EQ(result.gpus[3].uuid, "GPU-3");
}

TEST(GpuTestResult, FailuresHaveCudasNumberOrAreUnknown) {
  const Machine machine = machine_with(2, {0, 1});
  Verdict refused = memory_verdict(machine.gpus[0], VerdictStatus::not_tested, "(allocate)");
  refused.error_code = 2;
  const auto result = gpu_test_result(
      machine,
      {refused, memory_verdict(machine.gpus[1], VerdictStatus::failed, "1 word is wrong")});
  EXPECT_EQ(result.gpus[0].failure->code, 2);
  EXPECT_TRUE(contains(result.gpus[0].failure->text, "CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_EQ(result.gpus[1].failure->code, 999);
  EXPECT_EQ(result.gpus[1].failure->text, "1 word is wrong");
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
  const auto result = gpu_test_result(machine, {good, bad});
  EXPECT_EQ(result.gpus[0].failure->text, "bad instance");
  EXPECT_EQ(result.gpus[1].failure->text, "not tested");
}

}  // namespace
}  // namespace gpuready::cli
