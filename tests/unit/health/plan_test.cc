#include "health/plan.h"

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

std::string reason(const Machine& machine, const PlanOptions& options = {}) {
  const auto plan = plan_memory_tests(machine, options);
  return plan.not_run.empty() ? "" : plan.not_run.front().reason;
}

TEST(Plan, AnIdleGpuIsTestedWhole) {
  const auto plan = plan_memory_tests(live_machine(), {});
  ASSERT_EQ(plan.run.size(), 1u);
  EXPECT_EQ(plan.run[0].uuid, "GPU-11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(plan.run[0].keep_free_bytes, 0u);
  EXPECT_FALSE(plan.run[0].max_bytes);
  EXPECT_FALSE(plan.host_memory);
}

TEST(Plan, AGpuWithAProcessIsBusyAndNotTested) {
  auto machine = live_machine();
  machine.gpus[0].processes.push_back({4711, "train", 20 * GiB, "compute"});
  const auto plan = plan_memory_tests(machine, {});
  EXPECT_TRUE(plan.run.empty());
  ASSERT_EQ(plan.not_run.size(), 1u);
  EXPECT_EQ(plan.not_run[0].status, VerdictStatus::not_tested);
  EXPECT_TRUE(plan.not_run[0].reason.starts_with("busy")) << plan.not_run[0].reason;
  EXPECT_NE(plan.not_run[0].reason.find("4711"), std::string::npos);
}

TEST(Plan, MemoryThatNoProcessExplainsIsBusy) {
  auto machine = live_machine();
  machine.gpus[0].memory.used_bytes = 500 * MiB;
  EXPECT_TRUE(reason(machine).starts_with("busy"));
}

TEST(Plan, BusyOnRequestLeavesTenPercentOrTwoGiBToOthers) {
  auto machine = live_machine();
  machine.gpus[0].memory.used_bytes = 500 * MiB;
  EXPECT_EQ(plan_memory_tests(machine, {.busy = true}).run.at(0).keep_free_bytes, 8 * GiB);
  machine.gpus[0].memory.total_bytes = 8 * GiB;
  EXPECT_EQ(plan_memory_tests(machine, {.busy = true}).run.at(0).keep_free_bytes, 2 * GiB);
}

TEST(Plan, ASuspendedGpuIsWokenOnlyByName) {
  auto machine = live_machine();
  machine.gpus[0].suspended = true;
  EXPECT_TRUE(reason(machine).starts_with("suspended"));
  EXPECT_EQ(plan_memory_tests(machine, {.devices = {"0000:17:00.0"}}).run.size(), 1u);
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
  EXPECT_TRUE(plan_memory_tests(machine, {}).run.empty());
  machine.gpus.clear();
  EXPECT_FALSE(plan_memory_tests(machine, {}).host_memory);
}

TEST(Plan, EachMigInstanceIsTestedByItsUuid) {
  auto machine = live_machine();
  machine.gpus[0].mig_enabled = true;
  EXPECT_NE(reason(machine).find("MIG"), std::string::npos);
  for (const char* uuid : {"MIG-a", "MIG-b"}) machine.gpus[0].mig.emplace_back().uuid = uuid;
  const auto plan = plan_memory_tests(machine, {});
  ASSERT_EQ(plan.run.size(), 2u);
  EXPECT_EQ(plan.run[1].uuid, "MIG-b");
}

TEST(Plan, SharedMemoryIsTakenByAQuarterAtMost) {
  auto machine = live_machine();
  machine.gpus[0].integrated = true;
  machine.system.memory_available_bytes = 16 * GiB;
  EXPECT_EQ(plan_memory_tests(machine, {}).run.at(0).max_bytes, 4 * GiB);
}

TEST(Plan, Wsl2GetsShortLaunchesAndNineTenths) {
  auto machine = live_machine();
  machine.system.wsl2 = true;
  const auto plan = plan_memory_tests(machine, {});
  ASSERT_EQ(plan.run.size(), 1u);
  EXPECT_LT(plan.run[0].max_launch_ms.value(), 500);
  EXPECT_LE(plan.run[0].max_bytes.value(), 79 * GiB / 10 * 9);
}

TEST(Plan, WithoutGpuHardwareHostMemoryIsTested) {
  Machine machine;
  machine.source = "live";
  EXPECT_TRUE(plan_memory_tests(machine, {}).host_memory);
  machine.fakes = {"cuda"};
  EXPECT_FALSE(plan_memory_tests(machine, {}).host_memory);
}

TEST(Plan, DevicesAreNamedByIndexAddressOrUuid) {
  const auto machine = live_machine();
  for (const char* name : {"0", "17:00.0", "00000000:17:00.0", "GPU-1111"})
    EXPECT_TRUE(names_gpu({name}, machine.gpus[0])) << name;
  for (const char* name : {"1", "0000:18:00.0", "GPU-2", "GPU-", ""})
    EXPECT_FALSE(names_gpu({name}, machine.gpus[0])) << name;
}

}  // namespace
}  // namespace gpuready
