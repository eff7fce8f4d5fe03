// Waves of the bandwidth and peers tests.
#include "health/peers/plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "health/bandwidth/plan.h"
#include "health/plan/plan.h"

namespace gpuready {
namespace {

// `bridges[i]` is the host bridge of GPU i.
Machine machine_with(const std::vector<std::string>& bridges) {
  Machine machine;
  machine.source = "live";
  for (std::size_t i = 0; i < bridges.size(); ++i) {
    Gpu gpu;
    gpu.index = static_cast<int>(i);
    gpu.vendor = Vendor::nvidia;
    gpu.pci = PciAddress{0, static_cast<std::uint8_t>(16 + i), 0, 0};
    gpu.uuid = "GPU-0000000" + std::to_string(i);
    gpu.memory.used_bytes = 0;
    PciDevice device;
    device.address = *gpu.pci;
    device.host_bridge = bridges[i];
    machine.gpus.push_back(gpu);
    machine.pci.push_back(device);
  }
  return machine;
}

TestPlan plan_of(const Machine& machine, const char* test, PlanOptions options = {}) {
  options.tests = {test};
  options.named = true;
  return plan_tests(machine, options);
}

std::vector<std::vector<std::string>> subjects(const TestPlan& plan) {
  std::vector<std::vector<std::string>> waves;
  for (const auto& wave : plan.waves) {
    waves.emplace_back();
    for (const TestJob& job : wave) waves.back().push_back(job.subject);
  }
  return waves;
}

TEST(BandwidthPlan, GpusOfOneHostBridgeExcludeEachOtherThenAllTogether) {
  const auto plan = plan_of(machine_with({"pci0000:10", "pci0000:10", "pci0000:20"}), "bandwidth");
  const std::vector<std::vector<std::string>> expected = {
      {"GPU 0", "GPU 1", "GPU 2"},
      {"GPU 0, all together", "GPU 1, all together", "GPU 2, all together"}};
  EXPECT_EQ(subjects(plan), expected);
  const auto& alone = plan.waves[0];
  ASSERT_TRUE(alone[0].exclusive);
  EXPECT_EQ(alone[0].exclusive, alone[1].exclusive);
  EXPECT_NE(alone[0].exclusive, alone[2].exclusive);
  EXPECT_FALSE(alone[0].options.all_together);
  EXPECT_TRUE(plan.waves[1][0].options.all_together);
  EXPECT_FALSE(plan.waves[1][0].exclusive);
}

TEST(BandwidthPlan, GpusThatWaitForTheirLinkDoOtherTests) {
  PlanOptions options;
  options.tests = {"memory", "bandwidth", "peers"};
  const auto plan = plan_tests(machine_with({"pci0000:10", "pci0000:10"}), options);
  ASSERT_EQ(plan.waves.size(), 3u);
  std::vector<std::string> first;
  for (const TestJob& job : plan.waves[0])
    first.push_back(job.subject + " " + std::string(job.test->name));
  EXPECT_EQ(first, (std::vector<std::string>{"GPU 0 bandwidth", "GPU 1 bandwidth", "GPU 0 memory",
                                             "GPU 1 memory"}));
  EXPECT_TRUE(plan.waves[1][0].options.all_together);
  EXPECT_EQ(plan.waves[2][0].subject, "GPU 0 and GPU 1");
}

TEST(BandwidthPlan, AloneThereIsNothingToBeTogetherWith) {
  EXPECT_EQ(plan_of(machine_with({"pci0000:10"}), "bandwidth").waves.size(), 1u);
}

TEST(PeerPlan, EachPairMeetsOnceAndNoGpuTwiceInAWave) {
  for (const std::size_t gpus : {2u, 3u, 4u, 7u, 8u}) {
    const auto plan = plan_of(machine_with(std::vector<std::string>(gpus, "pci0000:10")), "peers");
    std::set<std::pair<std::string, std::string>> pairs;
    for (const auto& wave : plan.waves) {
      std::set<std::string> busy;
      for (const TestJob& job : wave) {
        ASSERT_EQ(job.devices.size(), 2u);
        EXPECT_TRUE(busy.insert(job.devices[0].id).second);
        EXPECT_TRUE(busy.insert(job.devices[1].id).second);
        pairs.insert(std::minmax({job.devices[0].id, job.devices[1].id}));
      }
    }
    EXPECT_EQ(pairs.size(), gpus * (gpus - 1) / 2) << gpus;
    EXPECT_EQ(plan.waves.size(), gpus % 2 == 0 ? gpus - 1 : gpus) << gpus;
    EXPECT_EQ(plan.waves[0][0].subject.substr(0, 4), "GPU ");
  }
}

TEST(PeerPlan, ThePathComesFromTheMachinesFacts) {
  auto machine = machine_with({"pci0000:10", "pci0000:20"});
  machine.paths.push_back({0, 1, PathKind::nvswitch, 18, std::nullopt});
  EXPECT_EQ(plan_of(machine, "peers").waves.at(0).at(0).options.peer_path,
            "NVLink through NVSwitch, 18 links");
  machine.paths[0] = {0, 1, PathKind::same_switch, 0, std::nullopt};
  EXPECT_EQ(plan_of(machine, "peers").waves.at(0).at(0).options.peer_path, "PCIe, same switch");
  machine.paths[0].kind = PathKind::unknown;
  EXPECT_FALSE(plan_of(machine, "peers").waves.at(0).at(0).options.peer_path);
}

TEST(PeerPlan, APairWithABusyGpuIsToldAsNotTested) {
  auto machine = machine_with({"pci0000:10", "pci0000:10", "pci0000:10"});
  machine.gpus[1].processes.push_back({4711, "train", 1u << 30, "compute"});
  const auto plan = plan_of(machine, "peers");
  ASSERT_EQ(plan.waves.size(), 1u);
  EXPECT_EQ(plan.waves[0][0].subject, "GPU 0 and GPU 2");
  ASSERT_EQ(plan.not_run.size(), 2u);
  for (const Verdict& verdict : plan.not_run) {
    EXPECT_EQ(verdict.status, VerdictStatus::not_tested);
    EXPECT_TRUE(verdict.reason.starts_with("GPU 1: busy")) << verdict.reason;
  }
}

TEST(PeerPlan, OneGpuHasNoPairWhichIsToldWhenAskedFor) {
  const auto machine = machine_with({"pci0000:10"});
  const auto named = plan_of(machine, "peers");
  EXPECT_TRUE(named.waves.empty());
  ASSERT_EQ(named.not_run.size(), 1u);
  EXPECT_EQ(named.not_run[0].status, VerdictStatus::not_tested);
  PlanOptions standard;
  standard.survey.test.level = Level::standard;
  for (const Verdict& verdict : plan_tests(machine, standard).not_run)
    EXPECT_NE(verdict.test, "peers");
}

TEST(PeerPlan, MigInstancesHaveNoPeers) {
  auto machine = machine_with({"pci0000:10", "pci0000:10"});
  for (Gpu& gpu : machine.gpus) {
    gpu.mig_enabled = true;
    gpu.mig.emplace_back().uuid = "MIG-" + *gpu.uuid;
  }
  EXPECT_TRUE(plan_of(machine, "peers").waves.empty());
}

}  // namespace
}  // namespace gpuready
