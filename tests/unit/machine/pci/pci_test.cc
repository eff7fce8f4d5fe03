#include "base/text.h"
#include "machine/pci/pci_files.h"
#include "machine/pci/pci_ids.h"
#include "machine/sources.h"
#include "unit/machine/scripted.h"

namespace gpuready {
namespace {

TEST(PciFiles, LinkSpeedsAreGenerations) {
  EXPECT_EQ(parse_link_speed("2.5 GT/s PCIe\n"), 1);
  EXPECT_EQ(parse_link_speed("16.0 GT/s PCIe"), 4);
  EXPECT_EQ(parse_link_speed("32.0 GT/s"), 5);
  EXPECT_EQ(parse_link_speed("64.0 GT/s PCIe"), 6);
  for (const char* text : {"Unknown", "", "17 GT/s", "16.0", "nan GT/s"})
    EXPECT_EQ(parse_link_speed(text), std::nullopt) << text;
}

TEST(PciFiles, AWidthOfALinkThatIsDownIsNone) {
  EXPECT_EQ(parse_link_width("16\n"), 16);
  for (const char* text : {"0", "63", "255", "-1", "x"})
    EXPECT_EQ(parse_link_width(text), std::nullopt) << text;
}

TEST(PciFiles, BarSizesComeFromMemoryRangesThatHaveAnAddress) {
  const auto sizes = parse_bar_sizes(
      "0x00000000c0000000 0x00000000c0ffffff 0x0000000000040200\n"
      "0x0000004000000000 0x0000005fffffffff 0x000000000014220c\n"
      "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
      "0x0000000000000000 0x0000000001ffffff 0x0000000020140204\n"  // no address was given
      "0x0000000000001000 0x000000000000107f 0x0000000000040101\n"  // I/O ports
      "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
      "0x00000000c1000000 0x00000000c107ffff 0x0000000000046200\n");
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{16u << 20, 128ull << 30, 0, 0, 0, 0}));
}

TEST(PciFiles, AerTotals) {
  EXPECT_EQ(parse_aer_total("RxErr 0\nBadTLP 3\nTOTAL_ERR_COR 3\n", "TOTAL_ERR_COR"), 3u);
  EXPECT_EQ(parse_aer_total("RxErr 0\n", "TOTAL_ERR_COR"), std::nullopt);
}

TEST(PciFiles, PathFromTheHostBridge) {
  const auto path =
      parse_pci_path("../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0");
  EXPECT_EQ(path.host_bridge, "pci0000:16");
  ASSERT_EQ(path.path.size(), 3u);
  EXPECT_EQ(path.path[0].text(), "0000:16:01.0");
  EXPECT_EQ(path.path[2].text(), "0000:18:00.0");
}

TEST(PciFiles, CpuListsAreCounted) {
  EXPECT_EQ(count_cpu_list("0-3,8"), 5);
  EXPECT_EQ(count_cpu_list("0"), 1);
  for (const char* text : {"", "3-1", "a-b", "0-99999999999"})
    EXPECT_EQ(count_cpu_list(text), std::nullopt) << text;
}

TEST(PciIds, NamesOfGpusThatAreNewerThanTheDistributionsList) {
  struct Case {
    std::uint16_t vendor, device;
    std::string_view name;
  };
  for (const auto& c : {Case{0x10de, 0x2b85, "NVIDIA GeForce RTX 5090"},
                        {0x10de, 0x2901, "NVIDIA B200"},
                        {0x10de, 0x31c2, "NVIDIA GB300"},
                        {0x10de, 0x20b5, "NVIDIA A100 PCIe 80GB"},
                        {0x1002, 0x74a1, "AMD Instinct MI300X"},
                        {0x1002, 0x75a3, "AMD Instinct MI355X"},
                        {0x1002, 0x7550, "AMD Radeon RX 9070/9070 XT/9070 GRE"},
                        {0x8086, 0xe20b, "Intel Arc B580"},
                        {0x8086, 0xe211, "Intel Arc Pro B60"},
                        {0x8086, 0xe223, "Intel Arc Pro B70"}})
    EXPECT_EQ(display_name(c.vendor, c.device,
                           std::string(pci_device_name(c.vendor, c.device).value_or(""))),
              c.name);
  EXPECT_TRUE(pci_device_name(0x1002, 0x1586).value_or("").starts_with("Strix Halo"));
}

TEST(PciIds, TheListIsInOrderAndNamesADeviceOnce) {
  std::string_view last;
  for (const auto line : lines(pci_ids_text())) {
    EXPECT_LT(last.substr(0, 8), line.substr(0, 8)) << line;
    last = line;
  }
}

TEST(PciIds, NamesOfTheEmbeddedList) {
  EXPECT_EQ(pci_device_name(0x10de, 0x20b5), "GA100 [A100 PCIe 80GB]");
  EXPECT_EQ(pci_device_name(0x10de, 0xffff), std::nullopt);
  EXPECT_EQ(pci_device_name(0x14e4, 0x1639), std::nullopt) << "no vendor of GPUs";
}

TEST(PciIds, EveryLineOfAListIsFoundAndNoOther) {
  constexpr std::string_view kIds =
      "10020001 One\n10de0002 Two\n10de0003 A longer third\n10deffff Last";
  EXPECT_EQ(find_pci_name(kIds, 0x1002, 1), "One");
  EXPECT_EQ(find_pci_name(kIds, 0x10de, 2), "Two");
  EXPECT_EQ(find_pci_name(kIds, 0x10de, 3), "A longer third");
  EXPECT_EQ(find_pci_name(kIds, 0x10de, 0xffff), "Last");
  for (const int device : {0, 1, 4, 0xfffe})
    EXPECT_EQ(find_pci_name(kIds, 0x10de, device), std::nullopt);
  EXPECT_EQ(find_pci_name(kIds, 0x1002, 2), std::nullopt);
  EXPECT_EQ(find_pci_name("10de", 0x10de, 2), std::nullopt);
  EXPECT_EQ(find_pci_name("", 0x10de, 2), std::nullopt);
}

TEST(PciIds, DisplayNamesAreTheMarketingNames) {
  EXPECT_EQ(display_name(0x10de, 0x20b5, "GA100 [A100 PCIe 80GB]"), "NVIDIA A100 PCIe 80GB");
  EXPECT_EQ(display_name(0x1002, 1, "Aldebaran"), "AMD Aldebaran");
  EXPECT_EQ(display_name(0x10de, 0x2335, std::nullopt), "NVIDIA device 10de:2335");
}

// An H100 behind a switch port, its NVSwitch, a BMC, and a network card.
constexpr const char* kServer = R"("links":{
  "/sys/bus/pci/devices/0000:16:01.0":"../../../devices/pci0000:16/0000:16:01.0",
  "/sys/bus/pci/devices/0000:17:00.0":"../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0",
  "/sys/bus/pci/devices/0000:17:00.1":"../../../devices/pci0000:16/0000:16:01.0/0000:17:00.1",
  "/sys/bus/pci/devices/0000:05:00.0":"../../../devices/pci0000:00/0000:05:00.0",
  "/sys/bus/pci/devices/0000:06:00.0":"../../../devices/pci0000:00/0000:06:00.0",
  "/sys/bus/pci/devices/0000:07:00.0":"../../../devices/pci0000:00/0000:07:00.0",
  "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/driver":"../../../../bus/pci/drivers/nvidia",
  "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/iommu_group":"../../../../kernel/iommu_groups/15"},
 "files":{
  "/sys/bus/pci/devices/0000:16:01.0/class":"0x060400\n",
  "/sys/bus/pci/devices/0000:16:01.0/vendor":"0x8086\n",
  "/sys/bus/pci/devices/0000:16:01.0/current_link_speed":"16.0 GT/s PCIe\n",
  "/sys/bus/pci/devices/0000:16:01.0/current_link_width":"8\n",
  "/sys/bus/pci/devices/0000:17:00.0/class":"0x030200\n",
  "/sys/bus/pci/devices/0000:17:00.0/vendor":"0x10de\n",
  "/sys/bus/pci/devices/0000:17:00.0/device":"0x20b5\n",
  "/sys/bus/pci/devices/0000:17:00.0/subsystem_vendor":"0x10de\n",
  "/sys/bus/pci/devices/0000:17:00.0/numa_node":"-1\n",
  "/sys/bus/pci/devices/0000:17:00.0/local_cpulist":"0-15\n",
  "/sys/bus/pci/devices/0000:17:00.0/power/runtime_status":"STATUS\n",
  "/sys/bus/pci/devices/0000:17:00.0/current_link_speed":"2.5 GT/s PCIe\n",
  "/sys/bus/pci/devices/0000:17:00.0/current_link_width":"16\n",
  "/sys/bus/pci/devices/0000:17:00.0/max_link_speed":"32.0 GT/s PCIe\n",
  "/sys/bus/pci/devices/0000:17:00.0/max_link_width":"16\n",
  "/sys/bus/pci/devices/0000:17:00.0/aer_dev_fatal":"TOTAL_ERR_FATAL 2\n",
  "/sys/bus/pci/devices/0000:17:00.1/class":"0x040300\n",
  "/sys/bus/pci/devices/0000:17:00.1/vendor":"0x10de\n",
  "/sys/bus/pci/devices/0000:05:00.0/class":"0x068000\n",
  "/sys/bus/pci/devices/0000:05:00.0/vendor":"0x10de\n",
  "/sys/bus/pci/devices/0000:06:00.0/class":"0x030000\n",
  "/sys/bus/pci/devices/0000:06:00.0/vendor":"0x1a03\n",
  "/sys/bus/pci/devices/0000:07:00.0/class":"0x020000\n",
  "/sys/bus/pci/devices/0000:07:00.0/vendor":"0x8086\n"})";

Machine server(const std::string& status) {
  std::string text = kServer;
  text.replace(text.find("STATUS"), 6, status);
  Machine machine;
  const auto host = scripted(text);
  find_pci(*host, machine);
  read_pci(*host, machine);
  finish_gpus(machine);
  return machine;
}

TEST(Pci, FindsTheGpuAndItsFacts) {
  const auto machine = server("active");
  ASSERT_EQ(machine.gpus.size(), 1u);
  const auto& gpu = machine.gpus[0];
  EXPECT_EQ(gpu.name, "NVIDIA A100 PCIe 80GB");
  EXPECT_EQ(gpu.name_source, "pci.ids");
  EXPECT_EQ(gpu.driver, "nvidia");
  EXPECT_EQ(gpu.numa_node, std::nullopt) << "-1 is no node";
  EXPECT_EQ(gpu.link_now.generation, 1);
  EXPECT_EQ(gpu.link_max.generation, 5);
  EXPECT_EQ(gpu.pcie_errors.fatal, 2u);
  EXPECT_EQ(gpu.pcie_errors.correctable, std::nullopt);
}

TEST(Pci, ListsSwitchAudioAndBmcButNoNetworkCard) {
  const auto machine = server("active");
  std::vector<std::string> listed;
  for (const auto& device : machine.pci) listed.push_back(device.address.text());
  EXPECT_EQ(listed, (std::vector<std::string>{"0000:05:00.0", "0000:06:00.0", "0000:17:00.0",
                                              "0000:17:00.1"}));
  for (const auto& device : machine.pci)
    EXPECT_EQ(device.is_gpu, device.address.text() == "0000:17:00.0") << device.address.text();
}

TEST(Pci, ReadsGroupPathAndTheUpstreamPort) {
  const auto machine = server("active");
  const auto& device = machine.pci[2];
  EXPECT_EQ(device.iommu_group, 15);
  EXPECT_EQ(device.host_bridge, "pci0000:16");
  ASSERT_EQ(device.path.size(), 2u);
  EXPECT_EQ(device.port_link_now.generation, 4);
  EXPECT_EQ(device.port_link_now.width, 8);
}

// Linux, Documentation/ABI/testing/sysfs-devices-power.
TEST(Pci, ReadsNoLinkOfASuspendedGpu) {
  for (const auto& [status, suspended] : {std::pair("suspended", true),
                                          {"suspending", true},
                                          {"resuming", false},
                                          {"active", false},
                                          {"unsupported", false}}) {
    const auto machine = server(status);
    ASSERT_EQ(machine.gpus.size(), 1u);
    EXPECT_EQ(machine.gpus[0].suspended, suspended) << status;
    EXPECT_EQ(machine.gpus[0].link_now.generation.has_value(), !suspended) << status;
    EXPECT_EQ(machine.pci[2].port_link_now.generation.has_value(), !suspended) << status;
    EXPECT_EQ(machine.gpus[0].pcie_errors.fatal, 2u) << "the kernel's own count needs no device";
  }
}

TEST(Pci, AVirtualFunctionIsNoGpuOfThisMachine) {
  const auto host = scripted(R"("links":{
    "/sys/bus/pci/devices/0000:17:00.4":"../../../devices/pci0000:16/0000:17:00.4",
    "/sys/devices/pci0000:16/0000:17:00.4/physfn":"../0000:17:00.0"},
   "files":{"/sys/bus/pci/devices/0000:17:00.4/class":"0x030200",
            "/sys/bus/pci/devices/0000:17:00.4/vendor":"0x10de",
            "/sys/devices/pci0000:16/0000:17:00.0/class":"0x030200"})");
  Machine machine;
  find_pci(*host, machine);
  read_pci(*host, machine);
  EXPECT_EQ(machine.pci.size(), 1u);
  EXPECT_TRUE(machine.gpus.empty());
}

TEST(Pci, AmdLinkIsThatOfTheBoardsOwnSwitch) {
  const auto host = scripted(R"("links":{
    "/sys/bus/pci/devices/0000:01:00.0":"../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0",
    "/sys/bus/pci/devices/0000:00:01.0":"../../../devices/pci0000:00/0000:00:01.0",
    "/sys/bus/pci/devices/0000:02:00.0":"../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0",
    "/sys/bus/pci/devices/0000:03:00.0":"../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0"},
   "files":{
    "/sys/bus/pci/devices/0000:00:01.0/class":"0x060400","/sys/bus/pci/devices/0000:00:01.0/vendor":"0x1022",
    "/sys/bus/pci/devices/0000:01:00.0/class":"0x060400","/sys/bus/pci/devices/0000:01:00.0/vendor":"0x1002",
    "/sys/bus/pci/devices/0000:01:00.0/current_link_speed":"8.0 GT/s PCIe",
    "/sys/bus/pci/devices/0000:01:00.0/current_link_width":"4",
    "/sys/bus/pci/devices/0000:01:00.0/max_link_speed":"16.0 GT/s PCIe",
    "/sys/bus/pci/devices/0000:02:00.0/class":"0x060400","/sys/bus/pci/devices/0000:02:00.0/vendor":"0x1002",
    "/sys/bus/pci/devices/0000:03:00.0/class":"0x030000","/sys/bus/pci/devices/0000:03:00.0/vendor":"0x1002",
    "/sys/bus/pci/devices/0000:03:00.0/current_link_speed":"16.0 GT/s PCIe",
    "/sys/bus/pci/devices/0000:03:00.0/current_link_width":"16",
    "/sys/bus/pci/devices/0000:03:00.0/max_link_speed":"32.0 GT/s PCIe"})");
  Machine machine;
  find_pci(*host, machine);
  read_pci(*host, machine);
  ASSERT_EQ(machine.gpus.size(), 1u);
  EXPECT_EQ(machine.gpus[0].link_now.generation, 3);
  EXPECT_EQ(machine.gpus[0].link_now.width, 4);
  EXPECT_EQ(machine.gpus[0].link_max.generation, 4);
}

TEST(Pci, ABusThatMayNotBeReadIsTold) {
  Machine machine;
  read_pci(*scripted(R"("directories":{"/sys/bus/pci/devices":{"error":"EACCES"}})"), machine);
  ASSERT_EQ(machine.unseen.size(), 1u);
  EXPECT_EQ(machine.unseen[0].what, "/sys/bus/pci/devices");
}

}  // namespace
}  // namespace gpuready
