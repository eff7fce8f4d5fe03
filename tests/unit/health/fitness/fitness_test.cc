#include "health/fitness/fitness.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace gpuready {
namespace {

TEST(Fitness, MemoryIsJudgedWithinTheCgroupsLimit) {
  Machine machine;
  machine.system.memory_available_bytes = 100 * GiB;
  EXPECT_EQ(memory_fitness(machine, {}).status, VerdictStatus::passed);
  machine.container.memory_limit_bytes = 6 * GiB;
  machine.container.memory_used_bytes = 3 * GiB;
  const auto verdict = memory_fitness(machine, {});
  EXPECT_EQ(verdict.status, VerdictStatus::failed);
  EXPECT_NE(verdict.reason.find("cgroup"), std::string::npos);
  EXPECT_EQ(verdict.metrics.at(0).value, 3.0 * GiB);
}

TEST(Fitness, MemoryThatNobodyTellsIsInconclusive) {
  EXPECT_EQ(memory_fitness(Machine{}, {}).status, VerdictStatus::inconclusive);
}

TEST(Fitness, DiskIsJudgedInPercentOfRoot) {
  EXPECT_EQ(disk_fitness(FileSystemSpace{100 * GiB, 10 * GiB}, {}).status, VerdictStatus::passed);
  EXPECT_EQ(disk_fitness(FileSystemSpace{100 * GiB, 9 * GiB}, {}).status, VerdictStatus::failed);
  EXPECT_EQ(disk_fitness(fail(ErrorKind::io, "no"), {}).status, VerdictStatus::inconclusive);
}

TEST(Fitness, TheCudaVersionIsTheDrivers) {
  Machine machine;
  EXPECT_EQ(cuda_version_fitness(machine, {}).status, VerdictStatus::not_supported);
  machine.gpus.emplace_back().vendor = Vendor::nvidia;
  machine.toolkits.push_back({"cuda", "13.0", "/usr/local/cuda", true, {}});
  EXPECT_EQ(cuda_version_fitness(machine, {}).status, VerdictStatus::failed)
      << "a toolkit is no driver";
  machine.nvidia.cuda_version = "11.4";
  EXPECT_EQ(cuda_version_fitness(machine, {}).status, VerdictStatus::failed);
  machine.nvidia.cuda_version = "12.0";
  EXPECT_EQ(cuda_version_fitness(machine, {}).status, VerdictStatus::passed);
}

TEST(Fitness, OnlyNvidiaHardwareNeedsACudaVersion) {
  for (const auto& [vendor, faked, status] :
       {std::tuple(Vendor::nvidia, false, VerdictStatus::failed),
        {Vendor::nvidia, true, VerdictStatus::not_supported},
        {Vendor::amd, false, VerdictStatus::not_supported},
        {Vendor::amd, true, VerdictStatus::not_supported}}) {
    Machine machine;
    Gpu& gpu = machine.gpus.emplace_back();
    gpu.vendor = vendor;
    gpu.faked = faked;
    EXPECT_EQ(cuda_version_fitness(machine, {}).status, status)
        << static_cast<int>(vendor) << " " << faked;
  }
}

TEST(Fitness, NetworkTellsTheTarget) {
  EXPECT_EQ(network_fitness("example:53", 1.5, {}).status, VerdictStatus::passed);
  const auto verdict =
      network_fitness("example:53", fail(ErrorKind::timed_out, "example:53: timed out"), {});
  EXPECT_EQ(verdict.status, VerdictStatus::failed);
  EXPECT_NE(verdict.reason.find("example:53"), std::string::npos);
}

}  // namespace
}  // namespace gpuready
