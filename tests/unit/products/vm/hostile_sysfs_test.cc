// Every file of a recorded host is spoiled in every way, and `vm list`, `plan` and `doctor` look at
// what is left: nothing that may not be given away becomes ready, and nothing crashes or takes
// long.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <set>

#include "base/json.h"
#include "machine/inspect.h"
#include "unit/machine/scripted.h"
#include "vm/diagnose/host.h"
#include "vm/inventory.h"
#include "vm/plan.h"
#include "vm/readiness.h"

namespace gpuready::vm {
namespace {

// Two GPUs, one the boot display and each with its audio function, a disk with the root filesystem,
// one with a mounted filesystem, a network card that is up, and a GPU with virtual functions.
constexpr char kHost[] = R"json({
 "/proc/self/mountinfo":"22 1 259:1 / / rw - ext4 /dev/nvme0n1 rw\n40 22 259:4 / /data rw - xfs /dev/nvme1n1 rw\n",
 "/proc/swaps":"Filename\tType\n",
 "/sys/kernel/iommu_groups/9/type":"DMA\n",
 "/sys/bus/pci/drivers/vfio-pci/bind":"",
 "/sys/class/net/eth0/flags":"0x1003\n"})json";

struct Function {
  std::string address, group, vendor, device, class_code;
  std::map<std::string, std::string> files = {};
};

Json host_sections() {
  const std::vector<Function> functions = {
      {"0000:17:00.0",
       "1",
       "10de",
       "2684",
       "030000",
       {{"boot_vga", "1\n"}, {"drm/card0/card0-DP-1/enabled", "disabled\n"}}},
      {"0000:17:00.1", "1", "10de", "22ba", "040300"},
      {"0000:65:00.0",
       "2",
       "10de",
       "2684",
       "030000",
       {{"boot_vga", "0\n"}, {"drm/card1/card1-DP-1/enabled", "enabled\n"}}},
      {"0000:65:00.1", "2", "10de", "22ba", "040300"},
      {"0000:b1:00.0",
       "3",
       "10de",
       "20b5",
       "030200",
       {{"sriov_totalvfs", "16\n"}, {"sriov_numvfs", "4\n"}}},
      {"0000:01:00.0", "4", "144d", "a808", "010802", {{"nvme/nvme0/nvme0n1/size", "1\n"}}},
      {"0000:02:00.0", "5", "144d", "a808", "010802", {{"nvme/nvme1/nvme1n1/size", "1\n"}}},
      {"0000:03:00.0", "6", "8086", "1572", "020000", {{"net/eth0/mtu", "1500\n"}}},
  };
  Json files = Json::parse(kHost), links = Json::object();
  for (const auto& one : functions) {
    const auto at = "/sys/devices/pci0000:00/" + one.address + "/";
    files[at + "class"] = "0x" + one.class_code + "\n";
    files[at + "vendor"] = "0x" + one.vendor + "\n";
    files[at + "device"] = "0x" + one.device + "\n";
    const auto upper = [](std::string text) {
      for (char& c : text) c = static_cast<char>(std::toupper(c));
      return text;
    };
    files[at + "modalias"] = "pci:v0000" + upper(one.vendor) + "d0000" + upper(one.device) +
                             "sv00000000sd00000000bc" + one.class_code.substr(0, 2) + "sc" +
                             one.class_code.substr(2, 2) + "i00\n";
    files[at + "reset_method"] = "flr bus\n";
    files[at + "numa_node"] = "0\n";
    for (const auto& [name, text] : one.files) files[at + name] = text;
    links["/sys/bus/pci/devices/" + one.address] = "../../../devices/pci0000:00/" + one.address;
    links[at + "iommu_group"] = "../../../kernel/iommu_groups/" + one.group;
    links["/sys/kernel/iommu_groups/" + one.group + "/devices/" + one.address] =
        "../../../../devices/pci0000:00/" + one.address;
  }
  links["/sys/class/block/nvme0n1"] = "../../devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";
  links["/sys/class/block/nvme1n1"] = "../../devices/pci0000:00/0000:02:00.0/nvme/nvme1/nvme1n1";
  links["/sys/dev/block/259:1"] = "../../devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";
  links["/sys/dev/block/259:4"] = "../../devices/pci0000:00/0000:02:00.0/nvme/nvme1/nvme1n1";
  return {{"files", files}, {"links", links}};
}

std::set<std::string> ready_ones(const Json& sections) {
  const auto text = sections.dump();
  const auto host = scripted(text.substr(1, text.size() - 2));
  const auto machine = inspect(*host, {.libraries = false});
  const State state{read_inventory(*host, machine, {.all = true}), {}};
  const auto& inventory = state.inventory;
  // What `doctor` finds is said in full, and is of a device that is there.
  const auto devices = passable_ones(inventory);
  const auto settings = read_host_settings(*host, state, devices);
  for (const auto& finding : diagnose_host({machine, state, devices, settings})) {
    EXPECT_EQ(std::ranges::count(host_causes(), finding.id, &HostCause::id), 1) << finding.id;
    EXPECT_FALSE(finding.title.empty() || finding.evidence.empty()) << finding.id;
    EXPECT_LE(finding.title.size(), 1000u) << finding.id;
    for (const auto& address : finding.pci) EXPECT_NE(inventory.find(address), nullptr);
  }
  std::set<std::string> ready;
  for (const auto& device : inventory.devices) {
    if (device.around.readiness != Readiness::ready)
      EXPECT_FALSE(device.around.reason.empty());
    else
      ready.insert(device.function.address.text());
  }
  return ready;
}

TEST(HostileSysfs, TheHostItselfHasNothingToGive) {
  EXPECT_EQ(ready_ones(host_sections()), std::set<std::string>{});
}

// What a file may hold instead. Counts of 0, "disabled" and other plausible values are lies that
// nobody can tell from the truth; they are not among these.
TEST(HostileSysfs, NoSpoiledFileMakesADeviceReady) {
  const auto whole = host_sections();
  const std::vector<Json> spoiled = {
      "",
      "\n",
      std::string((1u << 20) + 1, '1'),
      Json{{"base64", "//6AZ2FyYmFnZQo="}},
      "-1\n",
      "99999999999999999999999\n",
      "0x\n",
      std::string("1\0", 2),
      Json{{"error", "EIO"}},
      Json{{"error", "ENODEV"}},
      Json{{"error", "EACCES"}},
  };
  for (const auto& [path, text] : whole["files"].items())
    for (const auto& value : spoiled) {
      if (value == text) continue;
      auto sections = whole;
      sections["files"][path] = value;
      EXPECT_EQ(ready_ones(sections), std::set<std::string>{})
          << path << ": " << value.dump().substr(0, 60);
    }
}

// Files without which nobody can tell, and links that lead nowhere or in a circle.
TEST(HostileSysfs, NoMissingFileAndNoSpoiledLinkMakesADeviceReady) {
  const auto whole = host_sections();
  for (const auto& [path, text] : whole["files"].items()) {
    bool decides = false;
    for (const char* name :
         {"/boot_vga", "/sriov_numvfs", "/flags", "/mountinfo", "/vendor", "/class"})
      decides |= path.ends_with(name);
    if (!decides) continue;
    auto sections = whole;
    sections["files"].erase(path);
    if (path.ends_with("/mountinfo")) sections["files"]["/proc/self/comm"] = "x\n";
    EXPECT_EQ(ready_ones(sections), std::set<std::string>{}) << path << " is missing";
  }
  for (const auto& [path, target] : whole["links"].items())
    for (const auto& value : {path, std::string("../../nowhere"), std::string("x")}) {
      auto sections = whole;
      sections["links"][path] = value;
      EXPECT_EQ(ready_ones(sections), std::set<std::string>{}) << path << " -> " << value;
    }
}

}  // namespace
}  // namespace gpuready::vm
