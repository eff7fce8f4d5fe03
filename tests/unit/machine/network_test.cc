// Network adapters as /sys/class/infiniband shows them, and which GPUs are near them.
#include <gtest/gtest.h>

#include "machine/inspect.h"
#include "machine/sources.h"
#include "unit/machine/scripted.h"

namespace gpuready {
namespace {

// Two GPUs below one host bridge, the first behind a switch with an InfiniBand adapter; a RoCE
// adapter on another bridge of the second NUMA node; an EFA without a driver.
constexpr const char* kMachine = R"(
 "files": {
  "/sys/class/infiniband/mlx5_0/fw_ver": "28.39.3560\n",
  "/sys/class/infiniband/mlx5_0/board_id": "MT_0000000838\n",
  "/sys/class/infiniband/mlx5_0/hca_type": "MT4129\n",
  "/sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
  "/sys/class/infiniband/mlx5_0/ports/1/phys_state": "5: LinkUp\n",
  "/sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)\n",
  "/sys/class/infiniband/mlx5_0/ports/1/link_layer": "InfiniBand\n",
  "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error": "7\n",
  "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data": "99\n",
  "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence": "3\n",
  "/sys/class/infiniband/mlx5_1/ports/1/state": "DOWN\n",
  "/sys/class/infiniband/mlx5_1/ports/1/rate": "lots (X)\n",
  "/sys/class/infiniband/mlx5_1/ports/x/state": "4: ACTIVE\n",
  "/sys/module/nvidia_peermem/initstate": "live\n",
  "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/class": "0x030200\n",
  "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/vendor": "0x10de\n",
  "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/device": "0x2330\n",
  "/sys/devices/pci0000:16/0000:16:02.0/0000:20:00.0/class": "0x030200\n",
  "/sys/devices/pci0000:16/0000:16:02.0/0000:20:00.0/vendor": "0x10de\n",
  "/sys/devices/pci0000:16/0000:16:02.0/0000:20:00.0/device": "0x2330\n",
  "/sys/devices/pci0000:16/0000:16:02.0/0000:20:00.0/numa_node": "1\n",
  "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:19:00.0/class": "0x020700\n",
  "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:19:00.0/infiniband/mlx5_0/name": "",
  "/sys/devices/pci0000:80/0000:80:00.0/class": "0x020000\n",
  "/sys/devices/pci0000:80/0000:80:00.0/numa_node": "1\n",
  "/sys/devices/pci0000:90/0000:90:00.0/class": "0x020000\n",
  "/sys/devices/pci0000:90/0000:90:00.0/vendor": "0x1d0f\n",
  "/sys/devices/pci0000:90/0000:90:00.0/device": "0xefa2\n",
  "/sys/devices/pci0000:90/0000:90:01.0/class": "0x020000\n",
  "/sys/devices/pci0000:90/0000:90:01.0/vendor": "0x1d0f\n",
  "/sys/devices/pci0000:90/0000:90:01.0/device": "0xec20\n"
 },
 "links": {
  "/sys/bus/pci/devices/0000:18:00.0": "../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0",
  "/sys/bus/pci/devices/0000:19:00.0": "../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:19:00.0",
  "/sys/bus/pci/devices/0000:20:00.0": "../../../devices/pci0000:16/0000:16:02.0/0000:20:00.0",
  "/sys/bus/pci/devices/0000:80:00.0": "../../../devices/pci0000:80/0000:80:00.0",
  "/sys/bus/pci/devices/0000:90:00.0": "../../../devices/pci0000:90/0000:90:00.0",
  "/sys/bus/pci/devices/0000:90:01.0": "../../../devices/pci0000:90/0000:90:01.0",
  "/sys/class/infiniband/mlx5_0/device": "../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:19:00.0",
  "/sys/class/infiniband/mlx5_1/device": "../../../devices/pci0000:80/0000:80:00.0",
  "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:19:00.0/driver": "../../../../../bus/pci/drivers/mlx5_core"
 })";

using Addresses = std::vector<PciAddress>;

TEST(Network, AdaptersArePlacedBesideTheirGpus) {
  const auto host = scripted(kMachine);
  const Machine machine = inspect(*host, {});
  ASSERT_EQ(machine.network.size(), 3u);
  const auto& idle = machine.network[0];
  EXPECT_FALSE(idle.name);
  EXPECT_EQ(idle.pci, parse_pci_address("0000:90:00.0"));

  const auto& first = machine.network[1];
  EXPECT_EQ(first.name, "mlx5_0");
  EXPECT_EQ(first.pci, parse_pci_address("0000:19:00.0"));
  EXPECT_EQ(first.driver, "mlx5_core");
  EXPECT_EQ(first.firmware, "28.39.3560");
  EXPECT_EQ(first.board_id, "MT_0000000838");
  EXPECT_EQ(first.hca_type, "MT4129");
  EXPECT_EQ(first.near_gpus, Addresses{*parse_pci_address("0000:18:00.0")});
  EXPECT_EQ(first.near_by, "same_switch");
  ASSERT_EQ(first.ports.size(), 1u);
  EXPECT_EQ(first.ports[0].state, "ACTIVE");
  EXPECT_EQ(first.ports[0].physical_state, "LinkUp");
  EXPECT_EQ(first.ports[0].link_layer, "InfiniBand");
  EXPECT_EQ(first.ports[0].rate_gbps, 400);
  EXPECT_EQ(first.ports[0].width, 4);
  const std::map<std::string, std::uint64_t> counters{{"out_of_sequence", 3}, {"symbol_error", 7}};
  EXPECT_EQ(first.ports[0].counters, counters);
  EXPECT_EQ(machine.nvidia.peer_memory, "nvidia_peermem");

  const auto& second = machine.network[2];
  EXPECT_EQ(second.near_by, "numa_node");
  EXPECT_EQ(second.near_gpus, Addresses{*parse_pci_address("0000:20:00.0")});
  ASSERT_EQ(second.ports.size(), 1u);  // "x" is not a number
  EXPECT_FALSE(second.ports[0].state);
  EXPECT_FALSE(second.ports[0].rate_gbps);
  EXPECT_FALSE(second.ports[0].width);
}

TEST(Network, ARateIsOfGigabitsOverLanes) {
  struct Row {
    const char* text;
    std::optional<double> rate_gbps;
    std::optional<int> width;
  };
  const Row kRows[] = {{"400 Gb/sec (4X NDR)", 400, 4},
                       {"2.5 Gb/sec (1X SDR)", 2.5, 1},
                       {"100 Gb/sec (4X)", 100, 4},
                       {"100 Gb/sec (32X HDR)", 100, 32},
                       {"100 Gb/sec (33X HDR)", 100, {}},
                       {"100 Gb/sec (0X HDR)", 100, {}},
                       {"100 Gb/sec (fourX HDR)", 100, {}},
                       {"0 Gb/sec (4X SDR)", {}, 4},
                       {"-1 Gb/sec (4X SDR)", {}, 4},
                       {"lots Gb/sec (4X SDR)", {}, 4},
                       {"400 Mb/sec (4X NDR)", {}, {}},
                       {"400 Gb/sec (4 NDR)", {}, {}},
                       {"400 Gb/sec", {}, {}},
                       {"", {}, {}}};
  for (const auto& [text, rate_gbps, width] : kRows) {
    const auto host =
        scripted(R"("files":{"/sys/class/infiniband/mlx5_0/ports/1/state":"4: ACTIVE\n",)"
                 R"("/sys/class/infiniband/mlx5_0/ports/1/rate":")" +
                 std::string(text) + R"(\n"})");
    Machine machine;
    read_network(*host, machine);
    ASSERT_EQ(machine.network.size(), 1u);
    ASSERT_EQ(machine.network[0].ports.size(), 1u);
    EXPECT_EQ(machine.network[0].ports[0].rate_gbps, rate_gbps) << text;
    EXPECT_EQ(machine.network[0].ports[0].width, width) << text;
  }
}

// One GPU and one adapter below two ports of a bridge, or below two bridges.
TEST(Network, ANumaNodeJoinsWhatNoBridgeDoes) {
  const auto near = [](const char* bridge, const char* gpu_node, const char* adapter_node) {
    const auto text = [](const std::string& folder, const char* kind, const char* maker,
                         const char* node) {
      const auto file = [&](const char* name, const std::string& content) {
        return '"' + folder + "/" + name + "\":\"" + content + "\",";
      };
      return file("class", kind) + file("vendor", maker) + file("device", "0x1021") +
             (*node != '\0' ? file("numa_node", node) : "");
    };
    const std::string gpu = "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0",
                      port = "/sys/devices/pci0000:" + std::string(bridge) + "/0000:" + bridge,
                      adapter = port + ":02.0/0000:90:00.0", to = R"(":"../../..)";
    const auto host =
        scripted(R"("files":{)" + text(gpu, "0x030200", "0x10de", gpu_node) +
                 text(adapter, "0x020700", "0x15b3", adapter_node) +
                 R"("/sys/class/infiniband/mlx5_0/fw_ver":"1"},"links":{)" +
                 R"("/sys/bus/pci/devices/0000:17:00.0)" + to + gpu.substr(4) + R"(",)" +
                 R"("/sys/bus/pci/devices/0000:90:00.0)" + to + adapter.substr(4) + R"(",)" +
                 R"("/sys/class/infiniband/mlx5_0/device)" + to + adapter.substr(4) + R"("})");
    const Machine machine = inspect(*host, {});
    EXPECT_EQ(machine.network.size(), 1u);
    return machine.network.empty() ? "none" : machine.network[0].near_by.value_or("nothing");
  };
  EXPECT_EQ(near("16", "1", "1"), "host_bridge");
  EXPECT_EQ(near("16", "", ""), "host_bridge");
  EXPECT_EQ(near("80", "1", "1"), "numa_node");
  EXPECT_EQ(near("80", "0", "1"), "nothing");
  EXPECT_EQ(near("80", "", "1"), "nothing");
  EXPECT_EQ(near("80", "1", ""), "nothing");
  EXPECT_EQ(near("80", "", ""), "nothing") << "neither is known";
}

TEST(Network, FileOnlyTierReadsNoPort) {
  const auto host = scripted(kMachine);
  const Machine machine = inspect(*host, {.libraries = false});
  ASSERT_EQ(machine.network.size(), 1u);
  EXPECT_FALSE(machine.network[0].name);
}

}  // namespace
}  // namespace gpuready
