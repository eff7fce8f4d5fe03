#include "vm/inventory.h"

#include <gtest/gtest.h>

#include "base/kernel/mount_table.h"
#include "base/text.h"
#include "machine/inspect.h"
#include "unit/machine/scripted.h"
#include "unit/products/vm/fake_kernel.h"
#include "vm/host_facts.h"
#include "vm/usage/storage_use.h"

namespace gpuready::vm {
namespace {

// A root filesystem on LVM on a partition of an NVMe disk, another disk with a mounted one, and one
// that nobody uses.
constexpr char kDisks[] = R"json("files":{
  "/proc/self/mountinfo":"22 1 254:0 / / rw - ext4 /dev/mapper/vg-root rw\n40 22 259:4 / /data rw - xfs /dev/nvme1n1 rw\n",
  "/proc/swaps":"Filename\tType\n",
  "/sys/devices/virtual/block/dm-0/dm/name":"vg-root\n",
  "/sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p2/partition":"2\n",
  "/sys/devices/pci0000:00/0000:02:00.0/nvme/nvme1/nvme1n1/size":"1\n",
  "/sys/devices/pci0000:00/0000:03:00.0/nvme/nvme2/nvme2n1/size":"1\n",
  "/sys/devices/pci0000:00/0000:01:00.0/class":"0x010802\n",
  "/sys/devices/pci0000:00/0000:01:00.0/vendor":"0x144d\n",
  "/sys/devices/pci0000:00/0000:01:00.0/device":"0xa808\n",
  "/sys/devices/pci0000:00/0000:02:00.0/class":"0x010802\n",
  "/sys/devices/pci0000:00/0000:02:00.0/vendor":"0x144d\n",
  "/sys/devices/pci0000:00/0000:02:00.0/device":"0xa808\n",
  "/sys/devices/pci0000:00/0000:03:00.0/class":"0x010802\n",
  "/sys/devices/pci0000:00/0000:03:00.0/vendor":"0x144d\n",
  "/sys/devices/pci0000:00/0000:03:00.0/device":"0xa808\n",
  "/sys/kernel/iommu_groups/1/type":"DMA\n",
  "/sys/bus/pci/drivers/vfio-pci/bind":"",
  "/proc/77/comm":"dd\n"},
 "links":{
  "/sys/dev/block/254:0":"../../devices/virtual/block/dm-0",
  "/sys/dev/block/259:4":"../../devices/pci0000:00/0000:02:00.0/nvme/nvme1/nvme1n1",
  "/sys/class/block/dm-0":"../../devices/virtual/block/dm-0",
  "/sys/class/block/nvme0n1":"../../devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1",
  "/sys/class/block/nvme0n1p2":"../../devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p2",
  "/sys/class/block/nvme1n1":"../../devices/pci0000:00/0000:02:00.0/nvme/nvme1/nvme1n1",
  "/sys/class/block/nvme2n1":"../../devices/pci0000:00/0000:03:00.0/nvme/nvme2/nvme2n1",
  "/sys/devices/virtual/block/dm-0/slaves/nvme0n1p2":"../../../../pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p2",
  "/sys/bus/pci/devices/0000:01:00.0":"../../../devices/pci0000:00/0000:01:00.0",
  "/sys/bus/pci/devices/0000:02:00.0":"../../../devices/pci0000:00/0000:02:00.0",
  "/sys/bus/pci/devices/0000:03:00.0":"../../../devices/pci0000:00/0000:03:00.0",
  "/sys/devices/pci0000:00/0000:01:00.0/iommu_group":"../../../kernel/iommu_groups/1",
  "/sys/devices/pci0000:00/0000:02:00.0/iommu_group":"../../../kernel/iommu_groups/2",
  "/sys/devices/pci0000:00/0000:03:00.0/iommu_group":"../../../kernel/iommu_groups/3"},
 "probes":{"open-files":{"probe":"open-files","version":1,"outcome":"completed",
  "calls":{"open(77)":{"code":0,"value":["OPEN"]}}},
  "disk-claims nvme2n1":{"probe":"disk-claims","version":1,"outcome":"completed",
  "calls":{"claim(nvme2n1)":{"code":CLAIM}}}})json";

Inventory disks(const std::string& open, const char* claim = "0") {
  std::string text = kDisks;
  text.replace(text.find("OPEN"), 4, open);
  text.replace(text.find("CLAIM"), 5, claim);
  const auto host = scripted(text);
  return read_inventory(*host, inspect(*host, {.libraries = false}), {.all = true});
}

const Surroundings& at(const Inventory& inventory, const char* address) {
  const auto* device = inventory.find(*parse_pci_address(address));
  EXPECT_NE(device, nullptr);
  static const Surroundings kNone;
  return device ? device->around : kNone;
}

TEST(VmInventory, DisksThatTheMachineLivesOn) {
  const auto inventory = disks("/dev/null");
  EXPECT_EQ(at(inventory, "01:00.0").readiness, Readiness::never);
  EXPECT_EQ(at(inventory, "02:00.0").readiness, Readiness::in_use);
  EXPECT_EQ(at(inventory, "02:00.0").reason, "nvme1n1 is in use: /data");
  EXPECT_EQ(at(inventory, "03:00.0").readiness, Readiness::ready)
      << at(inventory, "03:00.0").reason;
}

TEST(VmInventory, AnOpenDiskIsInUse) {
  const auto inventory = disks("/dev/nvme2n1");
  EXPECT_EQ(at(inventory, "03:00.0").reason, "process 77 (dd) holds /dev/nvme2n1 open");
}

// What no process holds open, the kernel may.
TEST(VmInventory, ADiskThatTheKernelClaims) {
  const auto reason = [](const char* claim) {
    return at(disks("/dev/null", claim), "03:00.0").reason;
  };
  EXPECT_EQ(reason("16"),
            "/dev/nvme2n1 is claimed: a driver of the kernel or a program has it exclusively");
  EXPECT_EQ(reason("19"),
            "needs a look: whether /dev/nvme2n1 is claimed is not known: No such device");
}

// NVIDIA's driver takes references of any GPU through nodes that all of them share.
TEST(VmInventory, NodesThatNvidiasGpusShare) {
  const auto users = [](const std::string& open) {
    const auto host = scripted(R"json("files":{
        "/proc/self/mountinfo":"", "/proc/swaps":"Filename\n", "/proc/77/comm":"gnome-shell\n",
        "/sys/bus/pci/devices/0000:01:00.0/class":"0x030200\n",
        "/sys/bus/pci/devices/0000:01:00.0/vendor":"0x10de\n",
        "/sys/bus/pci/devices/0000:01:00.0/device":"0x2330\n",
        "/sys/bus/pci/devices/0000:02:00.0/class":"0x030200\n",
        "/sys/bus/pci/devices/0000:02:00.0/vendor":"0x10de\n",
        "/sys/bus/pci/devices/0000:02:00.0/device":"0x2330\n"},
       "links":{
        "/sys/bus/pci/devices/0000:01:00.0/driver":"../../../bus/pci/drivers/nvidia",
        "/sys/bus/pci/devices/0000:02:00.0/driver":"../../../bus/pci/drivers/nvidia"},
       "probes":{"open-files":{"probe":"open-files","version":1,"outcome":"completed",
        "calls":{"open(77)":{"code":0,"value":[)json" +
                               open + "]}}}}");
    auto machine = inspect(*host, {.libraries = false});
    EXPECT_EQ(machine.gpus.size(), 2u);
    for (std::size_t i = 0; i < machine.gpus.size(); ++i)
      machine.gpus[i].minor_number = static_cast<int>(i);
    std::vector<std::string> uses;
    for (const auto& device : read_inventory(*host, machine, {}).devices)
      uses.push_back(device.around.uses.empty() ? "" : device.around.uses.front().what);
    return uses;
  };
  const auto through = [](const std::string& node) {
    return "process 77 (gnome-shell) holds " + node + " open, and may use any GPU through it";
  };
  const std::string first = "process 77 (gnome-shell) holds /dev/nvidia0 open";
  using Users = std::vector<std::string>;
  const auto modeset = through("/dev/nvidia-modeset");
  EXPECT_EQ(users("\"/dev/nvidia-modeset\""), (Users{modeset, modeset}));
  EXPECT_EQ(users("\"/dev/nvidia-modeset\",\"/dev/nvidia0\""), (Users{first, modeset}));
  for (const std::string node : {"/dev/nvidiactl", "/dev/nvidia-uvm0"}) {
    EXPECT_EQ(users("\"" + node + "\""), (Users{through(node), through(node)}));
    EXPECT_EQ(users("\"" + node + "\",\"/dev/nvidia0\""), (Users{first, ""}));
  }
  EXPECT_EQ(users("\"/dev/nvidia-caps1\""), (Users{"", ""}));
}

// Of GPUs without a number that is known each open node of no other GPU may be theirs, and a switch
// is reached through its own and the one for all switches.
TEST(VmInventory, NodesOfAGpuWhoseNumberIsNotKnownAndOfASwitch) {
  const auto function = [](const std::string& address, const char* ids) {
    std::string text;
    for (const auto* name : {"class", "vendor", "device"}) {
      const std::string value = name == std::string("vendor")  ? "0x10de"
                                : name == std::string("class") ? ids
                                                               : "0x2330";
      text += "\"/sys/bus/pci/devices/0000:" + address + "/" + name + "\":\"" + value + "\\n\",";
    }
    return text;
  };
  const auto driver = [](const std::string& address, const std::string& name) {
    return "\"/sys/bus/pci/devices/0000:" + address + R"(/driver":"../../../bus/pci/drivers/)" +
           name + "\"";
  };
  const auto host = scripted(
      "\"files\":{" + function("01:00.0", "0x030200") + function("02:00.0", "0x030200") +
      function("03:00.0", "0x068000") + function("04:00.0", "0x030200") +
      function("05:00.0", "0x040300") +
      R"("/proc/self/mountinfo":"","/proc/swaps":"Filename\n","/proc/77/comm":"python\n"},)"
      R"("links":{)" +
      driver("01:00.0", "nvidia") + "," + driver("02:00.0", "nvidia") + "," +
      driver("03:00.0", "nvidia-nvswitch") + "," + driver("04:00.0", "nouveau") + "," +
      driver("05:00.0", "nvidia") +
      R"json(},"probes":{"open-files":{"probe":"open-files","version":1,"outcome":"completed",
        "calls":{"open(77)":{"code":0,"value":["/dev/nvidia0","/dev/nvidia1","/dev/nvidiactl",
        "/dev/nvidia-uvm","/dev/nvidia-caps/nvidia-cap1","/dev/nvidia2x","/dev/nvidia-nvswitch3",
        "/dev/nvidia-nvswitchctl"]}}}})json");
  auto machine = inspect(*host, {.libraries = false});
  for (auto& gpu : machine.gpus)
    if (gpu.pci == parse_pci_address("01:00.0")) gpu.minor_number = 0;
  const auto inventory = read_inventory(*host, machine, {.all = true});
  using Nodes = std::vector<std::string>;
  EXPECT_EQ(at(inventory, "01:00.0").nodes, Nodes{"/dev/nvidia0"});
  EXPECT_EQ(at(inventory, "02:00.0").nodes, Nodes{"/dev/nvidia1"});
  EXPECT_EQ(at(inventory, "03:00.0").nodes,
            (Nodes{"/dev/nvidia-nvswitch3", "/dev/nvidia-nvswitchctl"}));
  EXPECT_EQ(at(inventory, "04:00.0").nodes, Nodes{});
  EXPECT_EQ(at(inventory, "05:00.0").nodes, Nodes{});
}

// A group's members are found after the GPU that brought them.
TEST(VmInventory, DevicesAndGroupsAreInOrderOfAddress) {
  const auto host = scripted(R"json("files":{
      "/proc/self/mountinfo":"", "/proc/swaps":"Filename\n",
      "/sys/bus/pci/devices/0000:03:00.0/class":"0x020000\n",
      "/sys/bus/pci/devices/0000:03:00.0/vendor":"0x8086\n",
      "/sys/bus/pci/devices/0000:03:00.0/device":"0x1533\n",
      "/sys/bus/pci/devices/0000:05:00.0/class":"0x030200\n",
      "/sys/bus/pci/devices/0000:05:00.0/vendor":"0x10de\n",
      "/sys/bus/pci/devices/0000:05:00.0/device":"0x2330\n",
      "/sys/kernel/iommu_groups/7/devices/0000:03:00.0/x":"",
      "/sys/kernel/iommu_groups/7/devices/0000:05:00.0/x":""},
     "links":{
      "/sys/bus/pci/devices/0000:03:00.0/iommu_group":"../../../../kernel/iommu_groups/7",
      "/sys/bus/pci/devices/0000:05:00.0/iommu_group":"../../../../kernel/iommu_groups/7"})json");
  const auto inventory = read_inventory(*host, inspect(*host, {.libraries = false}), {});
  std::vector<PciAddress> devices;
  for (const auto& device : inventory.devices) devices.push_back(device.function.address);
  const std::vector<PciAddress> both = {*parse_pci_address("03:00.0"),
                                        *parse_pci_address("05:00.0")};
  EXPECT_EQ(devices, both);
  for (const auto& device : inventory.devices) EXPECT_EQ(device.around.group, both);
}

// VFIO lets a bridge keep its driver while others of its group are given away.
TEST(VmInventory, ABridgeStaysWithItsMachine) {
  std::string files, links;
  const auto add = [&](const std::string& address, const char* class_code, const char* vendor,
                       const char* group) {
    const auto folder = "/sys/bus/pci/devices/" + address + "/";
    for (const auto& [name, text] :
         {std::pair("class", class_code), {"vendor", vendor}, {"device", "0x2330"}})
      files += ",\"" + folder + name + "\":\"" + text + "\\n\"";
    links += (links.empty() ? "\"" : ",\"") + folder +
             "iommu_group\":\"../../../../kernel/iommu_groups/" + group + "\"";
    files +=
        std::string(",\"/sys/kernel/iommu_groups/") + group + "/devices/" + address + "/x\":\"\"";
  };
  add("0000:00:00.0", "0x060000", "0x8086", "7");  // to the processor
  add("0000:00:01.0", "0x060400", "0x8086", "7");  // to another bus
  add("0000:00:1f.0", "0x060100", "0x8086", "8");  // to ISA
  add("0000:01:00.0", "0x030200", "0x10de", "7");
  add("0000:01:00.1", "0x040300", "0x10de", "7");
  const auto host = scripted(R"("files":{"/proc/self/mountinfo":"", "/proc/swaps":"Filename\n")" +
                             files + "},\"links\":{" + links + "}");
  const std::vector<PciAddress> bridges = {
      *parse_pci_address("00:00.0"), *parse_pci_address("00:01.0"), *parse_pci_address("00:1f.0")};
  const auto inventory =
      read_inventory(*host, inspect(*host, {.libraries = false}), {.named = bridges});
  const std::vector<PciAddress> card = {*parse_pci_address("01:00.0"),
                                        *parse_pci_address("01:00.1")};
  for (const char* address : {"01:00.0", "01:00.1"}) {
    EXPECT_EQ(at(inventory, address).moves_together, card) << address;
    EXPECT_EQ(at(inventory, address).group, card) << address;
    EXPECT_NE(at(inventory, address).readiness, Readiness::never) << address;
  }
  for (const char* address : {"00:00.0", "00:01.0", "00:1f.0"}) {
    EXPECT_EQ(at(inventory, address).moves_together,
              std::vector<PciAddress>{*parse_pci_address(address)})
        << address;
    EXPECT_EQ(at(inventory, address).readiness, Readiness::never) << address;
    EXPECT_EQ(at(inventory, address).reason, "it is a bridge, which leads to other devices")
        << address;
  }
}

// Below the buses that functions carry: virtio's, a USB controller's.
constexpr char kNetworks[] = R"json("files":{
      "/proc/self/mountinfo":"22 1 0:30 / / rw - overlay overlay rw\n", "/proc/swaps":"Filename\tType\n",
      "/sys/devices/pci0000:00/0000:01:00.0/class":"0x020000\n",
      "/sys/devices/pci0000:00/0000:01:00.0/vendor":"0x1af4\n",
      "/sys/devices/pci0000:00/0000:01:00.0/device":"0x1041\n",
      "/sys/devices/pci0000:00/0000:02:00.0/class":"0x0c0330\n",
      "/sys/devices/pci0000:00/0000:02:00.0/vendor":"0x8086\n",
      "/sys/devices/pci0000:00/0000:02:00.0/device":"0xa36d\n",
      "/sys/devices/pci0000:00/0000:01:00.0/virtio0/net/eth0/flags":"0x1003\n",
      "/sys/devices/pci0000:00/0000:02:00.0/usb1/1-1/1-1:1.0/net/usb0/flags":"0x1002\n",
      "/sys/devices/virtual/net/lo/flags":"0x9\n",
      "/sys/kernel/iommu_groups/1/type":"DMA\n", "/sys/bus/pci/drivers/vfio-pci/bind":""},
     "links":{
      "/sys/class/net/lo":"../../devices/virtual/net/lo",
      "/sys/class/net/eth0":"../../devices/pci0000:00/0000:01:00.0/virtio0/net/eth0",
      "/sys/class/net/usb0":"../../devices/pci0000:00/0000:02:00.0/usb1/1-1/1-1:1.0/net/usb0",
      "/sys/bus/pci/devices/0000:01:00.0":"../../../devices/pci0000:00/0000:01:00.0",
      "/sys/bus/pci/devices/0000:02:00.0":"../../../devices/pci0000:00/0000:02:00.0",
      "/sys/devices/pci0000:00/0000:01:00.0/iommu_group":"../../../kernel/iommu_groups/1",
      "/sys/devices/pci0000:00/0000:02:00.0/iommu_group":"../../../kernel/iommu_groups/2"})json";

TEST(VmInventory, InterfacesBelowAnotherBus) {
  std::string text = kNetworks;
  const auto reason = [&](const char* address) {
    const auto host = scripted(text);
    return at(read_inventory(*host, inspect(*host, {.libraries = false}), {.all = true}), address)
        .reason;
  };
  EXPECT_EQ(reason("01:00.0"), "network interface eth0 is up");
  EXPECT_EQ(reason("02:00.0"), "");
  text.replace(text.find("0x1002"), 6, "0x1003");
  EXPECT_EQ(reason("02:00.0"), "network interface usb0 is up");
}

// The folder of a device's interfaces is there, and this network namespace sees none in it.
TEST(VmInventory, InterfacesOfAnotherNetworkNamespace) {
  std::string text = kNetworks;
  const auto reason = [&](const char* address) {
    const auto host = scripted(text);
    return at(read_inventory(*host, inspect(*host, {.libraries = false}), {.all = true}), address)
        .reason;
  };
  const auto replace = [&](const std::string& before, const std::string& now) {
    ASSERT_NE(text.find(before), text.npos) << before;
    text.replace(text.find(before), before.size(), now);
  };
  const std::string folder = "/sys/devices/pci0000:00/0000:01:00.0/virtio0";
  replace("\"" + folder + "/net/eth0/flags\":\"0x1003\\n\",", "");
  replace("\"/sys/class/net/eth0\":\"../../devices/pci0000:00/0000:01:00.0/virtio0/net/eth0\"",
          "\"/sys/bus/virtio/devices/virtio0\":\"" + folder + "\"");
  text += ",\"directories\":{\"" + folder + "/net\":[]}";
  EXPECT_EQ(reason("01:00.0"), "its network interface is in another network namespace");
  EXPECT_EQ(reason("02:00.0"), "");
}

// What names no device by its node: filesystems on virtio devices, consoles, VFIO's own
// descriptors.
constexpr char kVirtio[] = R"json("files":{
      "/proc/self/mountinfo":"22 1 0:30 / / rw - overlay overlay rw\n", "/proc/swaps":"Filename\tType\n",
      "/proc/77/comm":"qemu\n",
      "/sys/devices/pci0000:00/0000:01:00.0/class":"0x020000\n",
      "/sys/devices/pci0000:00/0000:01:00.0/vendor":"0x1af4\n",
      "/sys/devices/pci0000:00/0000:01:00.0/device":"0x1041\n",
      "/sys/kernel/iommu_groups/1/type":"DMA\n", "/sys/bus/pci/drivers/vfio-pci/bind":""},
     "links":{
      "/sys/bus/pci/devices/0000:01:00.0":"../../../devices/pci0000:00/0000:01:00.0",
      "/sys/devices/pci0000:00/0000:01:00.0/driver":"../../../bus/pci/drivers/PCI_DRIVER",
      "/sys/devices/pci0000:00/0000:01:00.0/virtio0/driver":"../../../../bus/virtio/drivers/VIRTIO_DRIVER",
      "/sys/devices/pci0000:00/0000:01:00.0/iommu_group":"../../../kernel/iommu_groups/1"},
     "probes":{"open-files":{"probe":"open-files","version":1,"outcome":"completed","calls":{CALLS}}})json";

std::string answer(const std::string& call, const std::string& value) {
  return "\"" + call + "\":{\"code\":0,\"value\":" + value + "}";
}

TEST(VmInventory, UsersThatHoldNoNode) {
  const auto reason = [](const std::string& calls, const char* driver, const char* virtio) {
    std::string text = kVirtio;
    text.replace(text.find("CALLS"), 5, calls);
    text.replace(text.find("PCI_DRIVER"), 10, driver);
    text.replace(text.find("VIRTIO_DRIVER"), 13, virtio);
    const auto host = scripted(text);
    return at(read_inventory(*host, inspect(*host, {.libraries = false}), {.all = true}), "01:00.0")
        .reason;
  };
  const auto mount = answer("mounts()", "[\"90 80 0:50 / /data rw - virtiofs tag rw\"]");
  EXPECT_EQ(reason(mount, "virtio-pci", "virtiofs"),
            "/data of another mount namespace (virtiofs) is mounted");
  EXPECT_EQ(reason(mount, "virtio-pci", "9pnet_virtio"), "");
  const auto console = answer("consoles()", "[\"/dev/hvc0\"]");
  EXPECT_EQ(reason(console, "virtio-pci", "virtio_console"),
            "the kernel's console is on /dev/hvc0");
  EXPECT_EQ(reason(console, "virtio-pci", "virtiofs"), "");
  // An open VFIO device may be any, unless its process holds another file of VFIO, or fdinfo says.
  const std::string device = "anon_inode:[vfio-device]";
  const auto vfio = [&](const std::string& calls) { return reason(calls, "vfio-pci", "none"); };
  EXPECT_EQ(vfio(answer("open(77)", "[\"" + device + "\"]")),
            "process 77 (qemu) holds a VFIO device open, and the kernel does not report which");
  EXPECT_EQ(vfio(answer("open(77)", "[\"" + device + "\",\"/dev/vfio/9\"]")), "");
  const auto told = [&](const std::string& address) {
    return vfio(answer("open(77)", "[\"" + device + " X\"]") + "," +
                answer("place(" + device + " X)", "\"/sys/devices/pci0000:00/" + address + "\""));
  };
  EXPECT_EQ(told("0000:01:00.0"), "process 77 (qemu) holds it open through VFIO");
  EXPECT_EQ(told("0000:02:00.0"), "");
}

TEST(VmInventory, MountsThatAreCutShort) {
  EXPECT_TRUE(parse_mounts("22 1 254:0 /\n").empty());
  const auto mounts =
      parse_mounts("22 1 254:0 / / rw - ext4\n22 1 0:5 / /x rw shared:1 - zfs pool rw\n");
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_EQ(mounts[0].type, "");
  EXPECT_EQ(mounts[1].type, "zfs");
}

TEST(VmHostFacts, TheDriverMadeForTheDevice) {
  const auto variants = parse_variants(
      "alias pci:v000010DEd*sv*sd*bc03sc*i* nvidia\n"
      "alias vfio_pci:v*d*sv*sd*bc*sc*i* vfio_pci\n"
      "alias vfio_pci:v000010DEd00002342sv*sd*bc*sc*i* nvgrace_gpu_vfio_pci\n"
      "alias vfio_pci:broken\n");
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_EQ(best_vfio_driver(variants, "pci:v000010DEd00002342sv000010DEsd000016EBbc03sc02i00"),
            "nvgrace_gpu_vfio_pci");
  EXPECT_EQ(best_vfio_driver(variants, "pci:v000010DEd00002330sv000010DEsd000016C1bc03sc02i00"),
            "vfio-pci");
  EXPECT_EQ(best_vfio_driver(variants, ""), "vfio-pci");
}

// cgroups(7): the second version, both mounted, and the first.
TEST(VmHostFacts, ServicesRunWhereSystemdHasACgroupOfThem) {
  for (const std::string place : {"", "unified/", "systemd/", "other/"}) {
    const auto unit = [&](const std::string& name) {
      return "\"/sys/fs/cgroup/" + place + "system.slice/" + name + ".service/cgroup.procs\":\"\"";
    };
    const auto host = scripted("\"files\":{" + unit("nvidia-fabricmanager") + "," +
                               unit("nvidia-persistenced") + "," + unit("ssh") + "}");
    const auto facts = read_host_facts(*host, {});
    EXPECT_EQ(join(facts.services, " "),
              place == "other/" ? "" : "nvidia-persistenced.service nvidia-fabricmanager.service")
        << place;
  }
}

TEST(VmOpenFiles, HostileDocuments) {
  ProbeDocument document;
  document.outcome = ProbeOutcome::completed;
  for (const char* call : {"open(-1)", "open(99999999999)", "open(", "open(7", "open()"}) {
    ProbeCall answer;
    answer.value = Json::array({"/dev/nvidia0"});
    document.calls[call] = answer;
  }
  ProbeCall numbers;
  numbers.value = Json::array({1, nullptr});
  document.calls["open(7)"] = numbers;
  EXPECT_TRUE(open_files_from(document).files.empty());
  document.outcome = ProbeOutcome::timed_out;
  EXPECT_TRUE(open_files_from(document).unseen.has_value());
}

TEST(VmOpenFiles, OneProcessThatCannotBeReadIsReported) {
  ProbeDocument document;
  document.outcome = ProbeOutcome::completed;
  const auto unseen = [&](unsigned refused) {
    document.calls["processes()"].value = Json{{"count", 9}, {"refused", refused}};
    return open_files_from(document).unseen.value_or("");
  };
  EXPECT_EQ(unseen(0), "");
  EXPECT_TRUE(unseen(1).starts_with("open files of 1 process: not permitted")) << unseen(1);
  EXPECT_TRUE(unseen(2).starts_with("open files of 2 processes: not permitted")) << unseen(2);
}

// The first namespace of a boot has the inode PROC_PID_INIT_INO (Linux, proc_ns.h).
TEST(VmOpenFiles, ProcessesOutsideAContainerAreUnseen) {
  FakeKernel kernel;
  const auto unseen = [&] { return read_open_files(kernel).unseen.value_or(""); };
  EXPECT_EQ(unseen(), "") << "a kernel without namespaces";
  kernel.links["/proc/self/ns/pid"] = "pid:[4026531836]";
  EXPECT_EQ(unseen(), "");
  kernel.links["/proc/self/ns/pid"] = "pid:[4026532281]";
  EXPECT_TRUE(
      unseen().starts_with("open files of processes outside this container's PID namespace"))
      << unseen();
}

// By an open file and by what the driver says of it: it is one user.
TEST(VmInventory, AProcessIsListedOnce) {
  const auto host = scripted(R"json("files":{
      "/proc/self/mountinfo":"", "/proc/swaps":"Filename\n", "/proc/77/comm":"train\n",
      "/sys/bus/pci/devices/0000:01:00.0/class":"0x030200\n",
      "/sys/bus/pci/devices/0000:01:00.0/vendor":"0x1002\n",
      "/sys/bus/pci/devices/0000:01:00.0/device":"0x74a1\n",
      "/sys/bus/pci/devices/0000:01:00.0/drm/renderD128/dev":"226:128\n",
      "/sys/bus/pci/devices/0000:01:00.0/drm/card0/dev":"226:0\n"},
     "probes":{"open-files":{"probe":"open-files","version":1,"outcome":"completed",
      "calls":{"open(77)":{"code":0,"value":["/dev/dri/card0","/dev/dri/renderD128"]}}}})json");
  auto machine = inspect(*host, {.libraries = false});
  ASSERT_EQ(machine.gpus.size(), 1u);
  for (const std::uint32_t pid : {77, 78}) machine.gpus[0].processes.emplace_back().pid = pid;
  std::vector<std::string> uses;
  const auto inventory = read_inventory(*host, machine, {});
  for (const auto& use : at(inventory, "01:00.0").uses) uses.push_back(use.what);
  EXPECT_EQ(uses, (std::vector<std::string>{"process 77 (train) holds /dev/dri/card0 open",
                                            "process 78 computes or draws on it"}));
}

}  // namespace
}  // namespace gpuready::vm
