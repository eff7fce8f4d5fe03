#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

#include "machine/pci/pci_files.h"
#include "machine/sources.h"

namespace gpuready {
namespace {

// GPUs at the ends of these device paths.
Machine machine_with(const std::vector<std::string>& paths, std::vector<int> nodes = {}) {
  Machine machine;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto parsed = parse_pci_path(paths[i]);
    PciDevice device;
    device.address = parsed.path.back();
    device.path = parsed.path;
    device.host_bridge = parsed.host_bridge;
    machine.pci.push_back(device);
    auto& gpu = gpu_at(machine, device.address, Vendor::nvidia);
    if (i < nodes.size()) gpu.numa_node = nodes[i];
  }
  finish_gpus(machine);
  return machine;
}

PathKind kind_of(Machine machine) {
  derive_topology(machine);
  return machine.paths.at(0).kind;
}

TEST(Topology, OneSwitch) {
  EXPECT_EQ(
      kind_of(machine_with({"pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0",
                            "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0"})),
      PathKind::same_switch);
}

TEST(Topology, SwitchesBelowASwitch) {
  EXPECT_EQ(kind_of(machine_with({"pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0/"
                                  "0000:04:00.0/0000:05:00.0",
                                  "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:06:00.0/"
                                  "0000:07:00.0/0000:08:00.0"})),
            PathKind::multiple_switches);
}

TEST(Topology, HostBridgeNodeAndSystem) {
  EXPECT_EQ(kind_of(machine_with(
                {"pci0000:00/0000:00:01.0/0000:01:00.0", "pci0000:00/0000:00:02.0/0000:02:00.0"})),
            PathKind::host_bridge);
  const std::vector<std::string> apart = {"pci0000:00/0000:00:01.0/0000:01:00.0",
                                          "pci0000:80/0000:80:01.0/0000:81:00.0"};
  EXPECT_EQ(kind_of(machine_with(apart, {0, 0})), PathKind::numa_node);
  EXPECT_EQ(kind_of(machine_with(apart, {0, 1})), PathKind::system);
  EXPECT_EQ(kind_of(machine_with(apart)), PathKind::unknown);
}

TEST(Topology, EachPairHasItsOwnPath) {
  auto machine = machine_with({"pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0",
                               "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0",
                               "pci0000:00/0000:00:02.0/0000:05:00.0"});
  derive_topology(machine);
  std::vector<std::tuple<int, int, PathKind>> paths;
  for (const auto& path : machine.paths) paths.emplace_back(path.gpu_a, path.gpu_b, path.kind);
  EXPECT_EQ(paths, (std::vector<std::tuple<int, int, PathKind>>{{0, 1, PathKind::same_switch},
                                                                {0, 2, PathKind::host_bridge},
                                                                {1, 2, PathKind::host_bridge}}));
}

TEST(Topology, LinksThatAreUpCount) {
  auto machine = machine_with({"pci0000:00/0000:01:00.0", "pci0000:00/0000:02:00.0"});
  for (int i = 0; i < 4; ++i) {
    NvLink link;
    link.link = i;
    link.up = i != 3;
    link.remote = machine.gpus[1].pci;
    link.remote_kind = "gpu";
    machine.gpus[0].nvlinks.push_back(link);
  }
  derive_topology(machine);
  EXPECT_EQ(machine.paths[0].kind, PathKind::nvlink);
  EXPECT_EQ(machine.paths[0].links, 3);
}

TEST(Topology, SwitchLinksJoinAll) {
  auto machine = machine_with({"pci0000:00/0000:01:00.0", "pci0000:00/0000:02:00.0"});
  for (std::size_t g = 0; g < 2; ++g)
    for (std::size_t i = 0; i < 18 - g; ++i) {
      NvLink link;
      link.up = true;
      link.remote_kind = "switch";
      machine.gpus[g].nvlinks.push_back(link);
    }
  derive_topology(machine);
  EXPECT_EQ(machine.paths[0].kind, PathKind::nvswitch);
  EXPECT_EQ(machine.paths[0].links, 17);
}

// As XGMI and NVML tell them: by one of the two, and in any order.
TEST(Topology, EachPairHasOnePathInTheOrderOfItsGpus) {
  auto machine =
      machine_with({"pci0000:00/0000:00:01.0/0000:01:00.0", "pci0000:00/0000:00:02.0/0000:02:00.0",
                    "pci0000:00/0000:00:03.0/0000:03:00.0"});
  machine.paths = {{1, 2, PathKind::system, 0, std::nullopt}};
  machine.gpus[1].xgmi_peers = {*machine.gpus[0].pci};
  derive_topology(machine);
  std::vector<std::tuple<int, int, PathKind, int>> told;
  for (const auto& path : machine.paths)
    told.emplace_back(path.gpu_a, path.gpu_b, path.kind, path.links);
  EXPECT_EQ(told,
            (std::vector<std::tuple<int, int, PathKind, int>>{{0, 1, PathKind::xgmi, 1},
                                                              {0, 2, PathKind::host_bridge, 0},
                                                              {1, 2, PathKind::system, 0}}));
}

// nvmlDeviceGetNvLinkRemotePciInfo() of either end may be refused, and a link to a switch is
// everybody's.
TEST(Topology, LinksOfEitherEndCountAndOfASwitchThoseThatBothHave) {
  const auto path = [](int of_first, int of_second, const char* kind) {
    auto machine = machine_with({"pci0000:00/0000:01:00.0", "pci0000:00/0000:02:00.0"});
    for (std::size_t gpu = 0; gpu < 2; ++gpu)
      for (int i = 0; i < (gpu == 0 ? of_first : of_second); ++i) {
        auto& link = machine.gpus[gpu].nvlinks.emplace_back();
        link.link = i;
        link.up = true;
        link.remote_kind = kind;
        if (link.remote_kind == "gpu") link.remote = machine.gpus[1 - gpu].pci;
      }
    derive_topology(machine);
    return std::pair(machine.paths.at(0).kind, machine.paths.at(0).links);
  };
  EXPECT_EQ(path(1, 0, "gpu"), std::pair(PathKind::nvlink, 1));
  EXPECT_EQ(path(0, 2, "gpu"), std::pair(PathKind::nvlink, 2));
  EXPECT_EQ(path(3, 2, "gpu"), std::pair(PathKind::nvlink, 3));
  EXPECT_EQ(path(1, 1, "switch"), std::pair(PathKind::nvswitch, 1));
  EXPECT_EQ(path(18, 16, "switch"), std::pair(PathKind::nvswitch, 16));
  EXPECT_EQ(path(18, 0, "switch"), std::pair(PathKind::host_bridge, 0));
  EXPECT_EQ(path(0, 0, "gpu"), std::pair(PathKind::host_bridge, 0));
}

TEST(Topology, KeepsWhatNvmlSaid) {
  auto machine = machine_with({"pci0000:00/0000:01:00.0", "pci0000:00/0000:02:00.0"});
  machine.paths.push_back({0, 1, PathKind::system, 0, "ok"});
  derive_topology(machine);
  ASSERT_EQ(machine.paths.size(), 1u);
  EXPECT_EQ(machine.paths[0].kind, PathKind::system);
  EXPECT_EQ(machine.paths[0].p2p_status, "ok");
}

}  // namespace
}  // namespace gpuready
