#include "machine/gpu_use.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace gpuready {
namespace {

// `count` NVIDIA GPUs that NVML lists and CUDA starts.
Machine listed(int count) {
  Machine machine;
  machine.nvidia.nvml_start = ApiStatus{"nvmlInit_v2()", 0, "NVML_SUCCESS"};
  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", 0, "CUDA_SUCCESS"};
  for (int i = 0; i < count; ++i) {
    PciDevice& device = machine.pci.emplace_back();
    device.address = {0, static_cast<std::uint8_t>(0x10 + i), 0, 0};
    device.driver = "nvidia";
    Gpu& gpu = machine.gpus.emplace_back();
    gpu.index = i;
    gpu.vendor = Vendor::nvidia;
    gpu.pci = device.address;
    gpu.driver = "nvidia";
    gpu.nvml_index = i;
    gpu.uuid = "GPU-" + std::to_string(i);
  }
  return machine;
}

// The same, of which NVML lists the first only.
Machine one_listed(int count) {
  Machine machine = listed(count);
  for (auto& gpu : machine.gpus)
    if (gpu.index > 0) gpu.nvml_index.reset();
  return machine;
}

DeviceNode& add_node(Machine& machine, int minor, bool exists) {
  machine.gpus[static_cast<std::size_t>(minor)].minor_number = minor;
  DeviceNode& node = machine.nodes.emplace_back();
  node.path = "/dev/nvidia" + std::to_string(minor);
  node.exists = exists;
  return node;
}

GpuUse use(const Machine& machine, std::size_t gpu) {
  const auto access = access_to(machine, machine.gpus[gpu]);
  EXPECT_EQ(access.reason.empty(), access.use == GpuUse::usable) << access.reason;
  EXPECT_EQ(access.source.empty(), access.use == GpuUse::usable) << access.reason;
  return access.use;
}

TEST(GpuUse, WhatAnswersIsUsable) {
  const auto machine = listed(2);
  EXPECT_EQ(use(machine, 0), GpuUse::usable);
  EXPECT_EQ(use(machine, 1), GpuUse::usable);
}

TEST(GpuUse, OnTheHostAnUnlistedGpuIsAFault) { EXPECT_EQ(use(one_listed(2), 1), GpuUse::unusable); }

TEST(GpuUse, InAContainerAnUnlistedGpuIsAnothers) {
  auto machine = one_listed(3);
  machine.container.runtime = "docker";
  add_node(machine, 2, false);
  EXPECT_EQ(use(machine, 0), GpuUse::usable);
  EXPECT_EQ(use(machine, 1), GpuUse::not_ours);
  EXPECT_EQ(use(machine, 2), GpuUse::not_ours);
}

TEST(GpuUse, AnUnlistedGpuWhoseNodeTheContainerHoldsIsAFault) {
  auto machine = one_listed(2);
  machine.container.runtime = "docker";
  add_node(machine, 1, true);
  EXPECT_EQ(use(machine, 1), GpuUse::unusable);
}

TEST(GpuUse, AContainerThatWasGivenNoneHasAFault) {
  auto machine = listed(2);
  machine.container.runtime = "docker";
  machine.nvidia.nvml_start.reset();
  machine.nvidia.cuda_start.reset();
  machine.nvidia.nvml_outcome = "no_library";
  for (auto& gpu : machine.gpus) gpu.nvml_index.reset();
  EXPECT_EQ(use(machine, 0), GpuUse::unusable);
}

TEST(GpuUse, WhatTheDeviceCgroupOrNvmlRefusesIsAnothers) {
  auto machine = one_listed(3);
  add_node(machine, 1, true).open_error = "EPERM";
  machine.gpus[2].errors.push_back(
      {"nvmlDeviceGetHandleByIndex_v2(2)", 4, "NVML_ERROR_NO_PERMISSION"});
  EXPECT_EQ(use(machine, 1), GpuUse::not_ours);
  EXPECT_EQ(use(machine, 2), GpuUse::not_ours);
}

TEST(GpuUse, ASlurmJobUsesWhatItWasGiven) {
  auto machine = one_listed(2);
  machine.container.cgroup_path = "/system.slice/slurmstepd.scope/job_7/step_0";
  add_node(machine, 1, true);
  EXPECT_EQ(use(machine, 1), GpuUse::not_ours);
}

TEST(GpuUse, SlurmsDaemonAndItsHooksHaveAllGpus) {
  auto machine = one_listed(2);
  add_node(machine, 1, true);
  for (const char* path : {"/system.slice/slurmd.service", "/system.slice/slurmd@n1.service"}) {
    machine.container.cgroup_path = path;
    EXPECT_FALSE(in_slurm_job(machine)) << path;
    EXPECT_EQ(use(machine, 1), GpuUse::unusable) << path;
  }
  for (const char* path : {"/system.slice/slurmstepd.scope/job_7/step_0/user/task_0",
                           "/slurm/uid_1000/job_7/step_batch", "/slurm_n1/uid_0/job_1"}) {
    machine.container.cgroup_path = path;
    EXPECT_TRUE(in_slurm_job(machine)) << path;
  }
}

TEST(GpuUse, AnAmdGpuThatTheContainerWasNotGivenIsAnothers) {
  Machine machine;
  for (int i = 0; i < 2; ++i) {
    Gpu& gpu = machine.gpus.emplace_back();
    gpu.index = i;
    gpu.vendor = Vendor::amd;
    gpu.driver = "amdgpu";
  }
  machine.gpus[0].sources = {"kfd"};
  EXPECT_EQ(use(machine, 1), GpuUse::usable);
  machine.container.runtime = "docker";
  EXPECT_EQ(use(machine, 0), GpuUse::usable);
  EXPECT_EQ(use(machine, 1), GpuUse::not_ours);
}

TEST(GpuUse, LostDriverlessAndRefusedGpusAreUnusable) {
  auto machine = listed(3);
  machine.gpus[0].errors.push_back({"nvmlDeviceGetName(0)", 15, "NVML_ERROR_GPU_IS_LOST"});
  machine.pci[1].driver.reset();
  machine.gpus[1].driver.reset();
  machine.gpus[1].nvml_index.reset();
  EXPECT_EQ(use(machine, 0), GpuUse::unusable);
  EXPECT_EQ(use(machine, 1), GpuUse::unusable);
  EXPECT_EQ(use(machine, 2), GpuUse::usable);
  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", 999, "CUDA_ERROR_UNKNOWN"};
  EXPECT_EQ(use(machine, 2), GpuUse::unusable);
  EXPECT_TRUE(contains(access_to(machine, machine.gpus[2]).reason, "CUDA_ERROR_UNKNOWN (999)"));
}

TEST(GpuUse, AVariableHidesGpusAndOneThatHidesAllIsAFault) {
  auto machine = listed(2);
  machine.visibility.cuda_visible_devices = "0";
  EXPECT_EQ(use(machine, 0), GpuUse::usable);
  EXPECT_EQ(use(machine, 1), GpuUse::hidden);
  machine.visibility.cuda_visible_devices = "";
  EXPECT_EQ(use(machine, 0), GpuUse::unusable);
  EXPECT_EQ(use(machine, 1), GpuUse::unusable);
}

// The vGPU manager's host has no libcuda, and needs none.
TEST(GpuUse, AGpuThatIsSharedOutAsVirtualGpusIsNotOurs) {
  auto machine = listed(2);
  machine.nvidia.cuda_outcome = "no_library";
  machine.nvidia.cuda_start.reset();
  machine.gpus[1].virtualization = "host_vgpu";
  EXPECT_EQ(use(machine, 0), GpuUse::unusable);
  EXPECT_EQ(use(machine, 1), GpuUse::not_ours);
  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", 0, ""};
  EXPECT_EQ(use(machine, 1), GpuUse::usable);
}

TEST(GpuUse, ASuspendedGpuIsUsable) {
  auto machine = one_listed(2);
  machine.gpus[1].suspended = true;
  EXPECT_EQ(use(machine, 1), GpuUse::usable);
}

}  // namespace
}  // namespace gpuready
