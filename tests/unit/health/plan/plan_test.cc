#include "health/plan/plan.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace gpuready {
namespace {

Machine live_machine() {
  Machine machine;
  machine.source = "live";
  Gpu gpu;
  gpu.vendor = Vendor::nvidia;
  gpu.pci = parse_pci_address("0000:17:00.0");
  gpu.uuid = "GPU-11111111-2222-3333-4444-555555555555";
  gpu.memory.total_bytes = 80 * GiB;
  gpu.memory.free_bytes = 79 * GiB;
  gpu.memory.used_bytes = 0;
  machine.gpus.push_back(gpu);
  return machine;
}

// The jobs of the memory test.
std::vector<TestJob> memory_jobs(const Machine& machine, const SurveyOptions& options = {}) {
  const auto plan = plan_tests(machine, {options, {"memory"}});
  return plan.waves.empty() ? std::vector<TestJob>() : plan.waves.front();
}

bool host_is_tested(const Machine& machine) {
  const auto jobs = memory_jobs(machine);
  return jobs.size() == 1 && jobs[0].on_cpu();
}

std::string reason(const Machine& machine, const PlanOptions& options = {}) {
  const auto plan = plan_tests(machine, options);
  return plan.not_run.empty() ? "" : plan.not_run.front().reason;
}

Machine amd_machine() {
  Machine machine;
  machine.source = "live";
  Gpu gpu;
  gpu.vendor = Vendor::amd;
  gpu.pci = parse_pci_address("0000:03:00.0");
  gpu.gfx_target = "gfx90a";
  gpu.memory.total_bytes = 64 * GiB;
  gpu.memory.used_bytes = 0;
  machine.gpus.push_back(gpu);
  machine.amd.outcome = "completed";
  machine.amd.start = ApiStatus{"hsa_init()", 0, ""};
  return machine;
}

TEST(Plan, NothingWakesASuspendedGpuThatWasNotAskedTo) {
  Machine machine = live_machine();
  Gpu asleep = machine.gpus[0];
  asleep.index = 1;
  asleep.uuid.reset();
  asleep.pci = parse_pci_address("0000:18:00.0");
  asleep.suspended = true;
  machine.gpus.push_back(asleep);
  EXPECT_TRUE(memory_jobs(machine).empty()) << "the CUDA driver would start both";
  EXPECT_EQ(reason(machine, {{}, {"memory"}}),
            "its test would wake GPU 1, which is suspended; --device 0000:17:00.0 tests it all the "
            "same");
  SurveyOptions named;
  named.devices = {"0"};
  EXPECT_EQ(memory_jobs(machine, named).size(), 1u);
}

// The CUDA driver starts NVIDIA's GPUs, and the HIP runtime AMD's.
TEST(Plan, ASuspendedGpuOfAnotherVendorIsNotWoken) {
  for (const auto& [tested, suspended] :
       {std::pair(live_machine(), amd_machine()), {amd_machine(), live_machine()}}) {
    Machine machine = tested;
    Gpu& asleep = machine.gpus.emplace_back(suspended.gpus[0]);
    asleep.index = 1;
    asleep.suspended = true;
    const auto jobs = memory_jobs(machine);
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0].subject, "GPU 0");
    EXPECT_TRUE(reason(machine, {{}, {"memory"}}).starts_with("suspended"));
  }
}

TEST(Plan, AGpuThatOthersUseMeanwhileIsNamed) {
  Machine machine = live_machine();
  const TestJob job = memory_jobs(machine).at(0);
  EXPECT_FALSE(why_busy_now(machine, job));
  machine.gpus[0].memory.used_bytes = GiB;
  const auto why = why_busy_now(machine, job);
  ASSERT_TRUE(why);
  EXPECT_TRUE(why->starts_with("GPU 0 was idle before and is now busy: 1 GiB")) << *why;
}

TEST(Plan, ALinkInAVirtualMachineIsNoRealOne) {
  Machine machine = live_machine();
  EXPECT_TRUE(memory_jobs(machine).at(0).options.real_link);
  machine.system.hypervisor = "kvm";
  EXPECT_FALSE(memory_jobs(machine).at(0).options.real_link);
}

TEST(Plan, WhatIsKnownOfClockAndLinkGoesToTheTests) {
  Machine machine = live_machine();
  machine.gpus[0].clocks.max_sm_mhz = 1980;
  machine.gpus[0].link_max = {5, 16};
  EXPECT_EQ(memory_jobs(machine).at(0).options.max_clock_mhz, 1980);
  EXPECT_EQ(memory_jobs(machine).at(0).options.link_width, 16);
  EXPECT_FALSE(memory_jobs(machine).at(0).options.link_excuse);
  machine.gpus[0].virtualization = "vgpu";
  EXPECT_TRUE(memory_jobs(machine).at(0).options.link_excuse);
  machine.gpus[0].virtualization = "none";
  machine.gpus[0].confidential_compute = true;
  EXPECT_TRUE(memory_jobs(machine).at(0).options.link_excuse);
}

TEST(Plan, WhatIdleMigInstancesHoldMakesNoneBusy) {
  Machine machine = live_machine();
  machine.gpus[0].memory.used_bytes = 90 * MiB;
  EXPECT_TRUE(why_busy(machine.gpus[0]));
  machine.gpus[0].mig_enabled = true;
  machine.gpus[0].mig.resize(2);
  EXPECT_FALSE(why_busy(machine.gpus[0]));
  machine.gpus[0].memory.used_bytes = 500 * MiB;
  EXPECT_TRUE(why_busy(machine.gpus[0]));
}

TEST(Plan, AnIdleGpuIsTestedWhole) {
  const auto jobs = memory_jobs(live_machine());
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(to_string(jobs[0].devices.at(0)), "cuda:GPU-11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(jobs[0].options.reserve_free_bytes, 0u);
  EXPECT_FALSE(jobs[0].options.max_bytes);
}

TEST(Plan, AGpuWithAProcessIsBusyAndNotTested) {
  auto machine = live_machine();
  machine.gpus[0].processes.push_back({4711, "train", 20 * GiB, "compute"});
  const auto plan = plan_tests(machine, {});
  EXPECT_TRUE(plan.waves.empty());
  ASSERT_FALSE(plan.not_run.empty());
  EXPECT_EQ(plan.not_run[0].status, VerdictStatus::not_tested);
  EXPECT_TRUE(plan.not_run[0].reason.starts_with("busy")) << plan.not_run[0].reason;
  EXPECT_NE(plan.not_run[0].reason.find("4711"), std::string::npos);
}

TEST(Plan, MemoryThatNoProcessExplainsIsBusy) {
  auto machine = live_machine();
  machine.gpus[0].memory.used_bytes = 500 * MiB;
  EXPECT_TRUE(reason(machine).starts_with("busy"));
}

// NVML is hidden, or the driver does not tell: a neighbour may hold most of the memory.
TEST(Plan, UseThatCannotBeSeenIsNotIdle) {
  auto machine = live_machine();
  machine.gpus[0].memory.used_bytes.reset();
  EXPECT_TRUE(reason(machine).starts_with("whether it is busy is unknown")) << reason(machine);
  EXPECT_EQ(memory_jobs(machine, {.busy = true}).at(0).options.reserve_free_bytes, 8 * GiB);
  machine.gpus[0].integrated = true;
  EXPECT_EQ(memory_jobs(machine).size(), 1u);
}

TEST(Plan, HalfOfTheFreeMemoryIsTakenBesideALoadedModel) {
  auto machine = live_machine();
  machine.gpus[0].memory.free_bytes = 300 * MiB;
  machine.gpus[0].memory.used_bytes = 79 * GiB;
  SurveyOptions options{.busy = true, .half_of_free = true};
  options.test.max_bytes = GiB;
  const auto jobs = memory_jobs(machine, options);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].options.max_bytes, 150 * MiB);
  EXPECT_EQ(jobs[0].options.reserve_free_bytes, 0u);
}

// Eight GPUs are tested at once: together they take half of what the container has left.
TEST(Plan, HostMemoryIsSharedWithinTheContainersLimit) {
  auto machine = live_machine();
  machine.system.memory_available_bytes = 2048 * GiB;
  machine.container.memory_limit_bytes = 8 * GiB;
  machine.container.memory_used_bytes = 4 * GiB;
  while (machine.gpus.size() < 8) machine.gpus.push_back(machine.gpus.front());
  EXPECT_EQ(memory_jobs(machine).at(0).options.max_host_bytes, 256 * MiB);
}

TEST(Plan, BusyOnRequestLeavesTenPercentOrTwoGiBToOthers) {
  auto machine = live_machine();
  machine.gpus[0].memory.used_bytes = 500 * MiB;
  EXPECT_EQ(memory_jobs(machine, {.busy = true}).at(0).options.reserve_free_bytes, 8 * GiB);
  machine.gpus[0].memory.total_bytes = 8 * GiB;
  EXPECT_EQ(memory_jobs(machine, {.busy = true}).at(0).options.reserve_free_bytes, 2 * GiB);
}

TEST(Plan, ASuspendedGpuIsWokenOnlyByName) {
  auto machine = live_machine();
  machine.gpus[0].suspended = true;
  EXPECT_TRUE(reason(machine).starts_with("suspended"));
  EXPECT_EQ(memory_jobs(machine, {.devices = {"0000:17:00.0"}}).size(), 1u);
}

TEST(Plan, ADriverThatDoesNotStartIsNamed) {
  auto machine = live_machine();
  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"};
  EXPECT_NE(reason(machine).find("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"), std::string::npos);
}

TEST(Plan, FakedAndReplayedMachinesAreNeverRun) {
  auto machine = live_machine();
  machine.gpus[0].faked = true;
  EXPECT_TRUE(reason(machine).starts_with("faked"));
  machine = live_machine();
  machine.source = "recorded";
  EXPECT_TRUE(plan_tests(machine, {}).waves.empty());
  machine.gpus.clear();
  EXPECT_FALSE(host_is_tested(machine));
}

TEST(Plan, EachMigInstanceIsTestedByItsUuid) {
  auto machine = live_machine();
  machine.gpus[0].mig_enabled = true;
  EXPECT_NE(reason(machine).find("MIG"), std::string::npos);
  for (const char* uuid : {"MIG-a", "MIG-b"}) machine.gpus[0].mig.emplace_back().uuid = uuid;
  const auto jobs = memory_jobs(machine);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[1].devices.at(0).id, "MIG-b");
}

TEST(Plan, SharedMemoryIsTakenByAQuarterAtMost) {
  auto machine = live_machine();
  machine.gpus[0].integrated = true;
  machine.system.memory_available_bytes = 16 * GiB;
  EXPECT_EQ(memory_jobs(machine).at(0).options.max_bytes, 4 * GiB);
}

TEST(Plan, Wsl2GetsShortLaunchesAndNineTenths) {
  auto machine = live_machine();
  machine.system.wsl2 = true;
  const auto jobs = memory_jobs(machine);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_LT(jobs[0].options.max_launch_ms, 500);
  EXPECT_LE(jobs[0].options.max_bytes.value(), 79 * GiB / 10 * 9);
}

TEST(Plan, WithoutGpuHardwareTheHostIsTested) {
  Machine machine;
  machine.source = "live";
  EXPECT_TRUE(host_is_tested(machine));
  machine.fakes = {"cuda"};
  EXPECT_FALSE(host_is_tested(machine));
}

void show_to_vulkan(Machine& machine, const char* pci, const char* uuid) {
  VulkanDevice device;
  device.name = "some GPU";
  device.type = "discrete";
  device.uuid = uuid;
  if (*pci) device.pci = parse_pci_address(pci);
  machine.vulkan.devices.push_back(device);
}

void add_llvmpipe(Machine& machine) {
  VulkanDevice device;
  device.name = "llvmpipe (LLVM 15.0.6, 256 bits)";
  device.type = "cpu";
  device.uuid = "6d657361-3232-2e33-2e36-000000000000";
  machine.vulkan.devices.push_back(device);
}

std::string chosen(const Machine& machine, const SurveyOptions& options = {}) {
  const auto jobs = memory_jobs(machine, options);
  return jobs.empty() ? "none" : to_string(jobs.front().devices.at(0));
}

TEST(Plan, CudaComesBeforeVulkanUnlessVulkanIsAskedFor) {
  auto machine = live_machine();
  show_to_vulkan(machine, "0000:65:00.0", "ffffffff-2222-3333-4444-555555555555");
  show_to_vulkan(machine, "0000:17:00.0", "11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(chosen(machine), "cuda:GPU-11111111-2222-3333-4444-555555555555");
  const auto forced = memory_jobs(machine, {.devices = {"vulkan"}});
  ASSERT_EQ(forced.size(), 1u);
  EXPECT_EQ(to_string(forced[0].devices[0]), "vulkan:11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(forced[0].pci_address, "0000:17:00.0");
  EXPECT_LE(forced[0].options.max_launch_ms, 500);
}

TEST(Plan, VulkanServesWhereCudaDoesNotStart) {
  auto machine = live_machine();
  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"};
  show_to_vulkan(machine, "", "11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(chosen(machine), "vulkan:11111111-2222-3333-4444-555555555555");
}

TEST(Plan, OtherVendorsAreTestedThroughVulkan) {
  auto machine = live_machine();
  machine.gpus[0].vendor = Vendor::intel;
  machine.gpus[0].uuid = "0x1234";
  EXPECT_EQ(chosen(machine), "none");
  EXPECT_NE(reason(machine).find("Vulkan shows no device"), std::string::npos) << reason(machine);
  show_to_vulkan(machine, "0000:17:00.0", "00000000-1700-0000-0000-000000000000");
  EXPECT_EQ(chosen(machine), "vulkan:00000000-1700-0000-0000-000000000000");
}

TEST(Plan, SoftwareIsNeverTakenForAGpu) {
  auto machine = live_machine();
  machine.gpus[0].vendor = Vendor::amd;
  add_llvmpipe(machine);
  EXPECT_EQ(chosen(machine), "none");
  EXPECT_EQ(chosen(machine, {.devices = {"vulkan"}}), "none");
}

TEST(Plan, SoftwareIsTestedOnlyOnRequestAndSaysSo) {
  Machine machine;
  machine.source = "live";
  add_llvmpipe(machine);
  EXPECT_TRUE(host_is_tested(machine)) << "not by default";
  const auto jobs = memory_jobs(machine, {.devices = {"vulkan"}});
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].subject, "llvmpipe (software)");
  EXPECT_EQ(to_string(jobs[0].devices[0]), "vulkan:6d657361-3232-2e33-2e36-000000000000");
  EXPECT_LE(jobs[0].options.max_bytes.value(), 64 * MiB);
}

TEST(Plan, VulkanThatIsAskedForAndAbsentIsNotTested) {
  Machine machine;
  machine.source = "live";
  const auto plan = plan_tests(machine, {{.devices = {"vulkan"}}, {"memory"}});
  EXPECT_TRUE(plan.waves.empty());
  ASSERT_EQ(plan.not_run.size(), 1u);
  EXPECT_EQ(plan.not_run[0].status, VerdictStatus::not_tested);
}

TEST(Plan, DevicesAreNamedByIndexAddressOrUuid) {
  const auto machine = live_machine();
  for (const char* name : {"0", "17:00.0", "00000000:17:00.0", "GPU-1111"})
    EXPECT_TRUE(names_gpu({name}, machine.gpus[0])) << name;
  for (const char* name : {"1", "0000:18:00.0", "GPU-2", "GPU-", ""})
    EXPECT_FALSE(names_gpu({name}, machine.gpus[0])) << name;
}

TEST(Plan, AnAmdGpuIsTestedThroughHipByItsAddressAndTarget) {
  EXPECT_EQ(chosen(amd_machine()), "hip:0000:03:00.0/gfx90a");
  EXPECT_EQ(chosen(amd_machine(), {.devices = {"hip"}}), "hip:0000:03:00.0/gfx90a");
  EXPECT_EQ(chosen(amd_machine(), {.devices = {"cuda"}}), "none");
  EXPECT_EQ(chosen(live_machine(), {.devices = {"hip"}}), "none");
}

TEST(Plan, WithoutTheHipRuntimeAnAmdGpuIsTestedThroughVulkanIfThatShowsIt) {
  auto machine = amd_machine();
  machine.amd.outcome = "no_library";
  machine.amd.start.reset();
  EXPECT_EQ(reason(machine), "libamdhip64.so, the HIP runtime, was not found");
  show_to_vulkan(machine, "0000:03:00.0", "00000000-0300-0000-0000-000000000000");
  EXPECT_EQ(chosen(machine), "vulkan:00000000-0300-0000-0000-000000000000");
}

TEST(Plan, RocmThatDoesNotStartIsWhyAnAmdGpuIsNotTested) {
  auto machine = amd_machine();
  machine.amd.start = ApiStatus{"hsa_init()", 4104, "HSA_STATUS_ERROR_OUT_OF_RESOURCES"};
  EXPECT_EQ(reason(machine), "ROCm does not start: HSA_STATUS_ERROR_OUT_OF_RESOURCES (4104)");
}

TEST(Plan, AnAmdGpuWithoutHipCodeIsTestedThroughVulkanIfThatShowsIt) {
  auto machine = amd_machine();
  machine.gpus[0].gfx_target = "gfx803";
  EXPECT_NE(reason(machine).find("no HIP code for gfx803 is embedded"), std::string::npos);
  show_to_vulkan(machine, "0000:03:00.0", "00000000-0300-0000-0000-000000000000");
  EXPECT_EQ(chosen(machine), "vulkan:00000000-0300-0000-0000-000000000000");
}

}  // namespace
}  // namespace gpuready
