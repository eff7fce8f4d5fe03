// Hosts with one fault each, and the findings that are wanted.
#include "vm/diagnose/host.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "machine/inspect.h"
#include "unit/products/vm/fake_kernel.h"

namespace gpuready::vm {
namespace {

constexpr char kGpuText[] = "0000:17:00.0", kOtherText[] = "0000:18:00.0";
const std::string kFolder = std::string("/sys/bus/pci/devices/") + kGpuText + "/";

// All that a GPU needs to be given away.
void fill(FakeKernel& kernel) {
  kernel.add(kGpuText, {});
  kernel.files["/proc/cmdline"] = "root=/dev/sda1 intel_iommu=on iommu=pt\n";
  kernel.files["/sys/module/vfio_iommu_type1"] = "";
}

const std::string kNoRoom =
    "0.5 pci 0000:17:00.0: BAR 1: no space for [mem size 0x2000000000 64bit pref]\n"
    "0.5 pci 0000:17:00.0: BAR 1: failed to assign [mem size 0x2000000000 64bit pref]\n";

// The header of a device's configuration with these registers of windows.
std::string config_with_bars(const std::vector<std::uint32_t>& bars) {
  std::string header = "\xde\x10\x30\x23";
  header.resize(64);
  for (std::size_t i = 0; i < bars.size(); ++i)
    for (std::size_t byte = 0; byte < 4; ++byte)
      header[0x10 + 4 * i + byte] = static_cast<char>(bars[i] >> (8 * byte));
  return header;
}

std::vector<Finding> findings_of(FakeKernel& kernel) {
  const auto machine = inspect(kernel, {.libraries = false, .kernel_log = true});
  const auto state = read_state(kernel, "/state");
  EXPECT_TRUE(state);
  const std::vector<PciAddress> devices = {*parse_pci_address(kGpuText)};
  return diagnose_host({machine, *state, devices, read_host_settings(kernel, *state, devices)});
}

struct Case {
  const char* name;
  std::function<void(FakeKernel&)> change;
  std::vector<std::string> wanted;  // ids
  Severity severity = Severity::error;
};

void bind(FakeKernel& kernel, const std::string& driver) {
  kernel.drivers.insert(driver);
  kernel.devices[kGpuText].bound = driver;
}

TEST(VmHost, EveryFaultIsNamed) {
  const Case cases[] = {
      {"all is well", [](FakeKernel&) {}, {}},
      {"the IOMMU is off",
       [](FakeKernel& k) { k.forbidden.insert("/sys/kernel/iommu_groups"); },
       {"iommu-off"}},
      {"iommu=pt is missing",
       [](FakeKernel& k) { k.files["/proc/cmdline"] = "root=/dev/sda1 intel_iommu=on\n"; },
       {"iommu-translates-all"},
       Severity::info},
      {"iommu.passthrough=on",
       [](FakeKernel& k) { k.files["/proc/cmdline"] = "root=/dev/sda1 iommu.passthrough=on\n"; },
       {}},
      {"iommu.passthrough=0",
       [](FakeKernel& k) { k.files["/proc/cmdline"] = "root=/dev/sda1 iommu.passthrough=0\n"; },
       {"iommu-translates-all"},
       Severity::info},
      {"the kernel passes through without being told",
       [](FakeKernel& k) {
         k.files["/proc/cmdline"] = "root=/dev/sda1\n";
         k.files["/sys/kernel/iommu_groups/1/type"] = "identity\n";
       },
       {}},
      {"the kernel translates, and was not told to",
       [](FakeKernel& k) {
         k.files["/proc/cmdline"] = "root=/dev/sda1\n";
         k.files["/sys/kernel/iommu_groups/1/type"] = "DMA-FQ\n";
       },
       {"iommu-translates-all"},
       Severity::info},
      {"the ACS override",
       [](FakeKernel& k) {
         k.files["/proc/cmdline"] = "iommu=pt pcie_acs_override=downstream,multifunction\n";
       },
       {"acs-override"},
       Severity::warning},
      {"a disk controller in the group",
       [](FakeKernel& k) {
         k.add(kOtherText, {.class_code = "0x010802", .vendor = "0x144d", .native = "nvme"});
       },
       {"iommu-group-shared"},
       Severity::warning},
      {"one that is in use in the group",
       [](FakeKernel& k) {
         k.add(kOtherText, {.class_code = "0x020000", .vendor = "0x8086", .native = "e1000e"});
         k.files[std::string("/sys/bus/pci/devices/") + kOtherText + "/net/eth0/flags"] =
             "0x1003\n";
         k.files["/sys/class/net/eth0/flags"] = "0x1003\n";
       },
       {"iommu-group-shared"}},
      {"another GPU in the group, which a process uses",
       [](FakeKernel& k) {
         k.add(kOtherText, {});
         k.files[std::string("/proc/driver/nvidia/gpus/") + kOtherText + "/information"] =
             "Device Minor: \t 1\n";
         k.open["77"] = {"/dev/nvidia1"};
       },
       {"iommu-group-shared"},
       Severity::warning},
      {"no vfio-pci", [](FakeKernel& k) { k.drivers.erase("vfio-pci"); }, {"vfio-pci-missing"}},
      {"no vfio_iommu_type1",
       [](FakeKernel& k) { k.files.erase("/sys/module/vfio_iommu_type1"); },
       {"vfio-type1-missing"}},
      {"no vfio_iommu_type1, and iommufd",
       [](FakeKernel& k) {
         k.files.erase("/sys/module/vfio_iommu_type1");
         k.files["/sys/module/iommufd"] = "";
       },
       {}},
      {"unsafe interrupts",
       [](FakeKernel& k) {
         k.files["/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts"] = "Y\n";
       },
       {"unsafe-interrupts"},
       Severity::warning},
      {"interrupts are not remapped",
       [](FakeKernel& k) {
         k.log =
             "9.1 vfio_iommu_type1_attach_group: No interrupt remapping support.  Use the module "
             "param\n";
         k.files["/sys/kernel/irq/0/chip_name"] = "IO-APIC\n";
         k.files["/sys/kernel/irq/30/chip_name"] = "PCI-MSI-0000:17:00.0\n";
       },
       {"no-interrupt-remapping"}},
      {"a line of the log says that interrupts are not remapped",
       [](FakeKernel& k) {
         k.log = "9.1 vfio_iommu_type1_attach_group: No interrupt remapping support.  Use\n";
       },
       {"no-interrupt-remapping"},
       Severity::warning},
      {"a line of the log says that interrupts are not remapped, and they are",
       [](FakeKernel& k) {
         k.log = "9.1 vfio_iommu_type1_attach_group: No interrupt remapping support.  Use\n";
         k.files["/sys/kernel/irq/0/chip_name"] = "IO-APIC\n";
         k.files["/sys/kernel/irq/30/chip_name"] = "IR-PCI-MSI-0000:17:00.0\n";
       },
       {}},
      {"interrupts are not remapped, and that was allowed since",
       [](FakeKernel& k) {
         k.log =
             "9.1 vfio_iommu_type1_attach_group: No interrupt remapping support.  Use the module "
             "param\n";
         k.files["/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts"] = "Y\n";
       },
       {"unsafe-interrupts"},
       Severity::warning},
      {"a BAR without room, by the log and the device's register",
       [](FakeKernel& k) {
         k.log = kNoRoom;
         k.files[kFolder + "config"] = config_with_bars({0x94000000, 0xc, 0, 0xc});
       },
       {"bar-unassigned"}},
      {"a BAR without room, and one that the log says it got",
       [](FakeKernel& k) {
         k.log = kNoRoom +
                 "0.6 pci 0000:17:00.0: BAR 1: assigned [mem 0x380000000000-0x381fffffffff 64bit "
                 "pref]\n";
         k.files[kFolder + "config"] = config_with_bars({0x94000000, 0xc, 0, 0xc});
       },
       {"bar-unassigned"}},
      {"a BAR without room by the log only",
       [](FakeKernel& k) { k.log = kNoRoom; },
       {"bar-unassigned"},
       Severity::warning},
      {"a BAR without room, and the device does not answer",
       [](FakeKernel& k) {
         k.log = kNoRoom;
         k.files[kFolder + "config"] = std::string(64, '\xff');
       },
       {"bar-unassigned"},
       Severity::warning},
      {"a BAR without room that the register does not tell from none",
       [](FakeKernel& k) {
         k.log = kNoRoom;
         k.files[kFolder + "config"] = config_with_bars({0x94000000, 0, 0, 0});
       },
       {"bar-unassigned"},
       Severity::warning},
      {"the upper half of a window",
       [](FakeKernel& k) {
         k.log = "0.5 pci 0000:17:00.0: BAR 2: no space for [mem size 0x2000000000 64bit pref]\n";
         k.files[kFolder + "config"] = config_with_bars({0x94000000, 0xc, 0x3800, 0xc});
       },
       {}},
      {"a window of I/O ports",
       [](FakeKernel& k) {
         k.log = "0.5 pci 0000:17:00.0: BAR 5: no space for [mem size 0x2000000000 64bit pref]\n";
         k.files[kFolder + "config"] = config_with_bars({0x94000000, 0xc, 0x3800, 0xc, 0, 0x3001});
       },
       {}},
      // The log's reader keeps failures alone; sysfs shows how it ended.
      {"a BAR that found room later",
       [](FakeKernel& k) {
         k.log =
             "0.5 pci 0000:17:00.0: BAR 1 [mem size 0x2000000000 64bit pref]: can't assign; no "
             "space\n";
         k.files[kFolder + "resource"] =
             "0x0 0x0 0x0\n0x0000380000000000 0x0000381fffffffff 0x000000000014220c\n";
       },
       {}},
      {"another device's BAR",
       [](FakeKernel& k) {
         k.log = "0.5 pci 0000:99:00.0: BAR 1: no space for [mem size 0x2000000000 64bit pref]\n";
       },
       {}},
      {"stuck in D3cold",
       [](FakeKernel& k) {
         k.log =
             "99.5 vfio-pci 0000:17:00.0: Unable to change power state from D3cold to D0, device "
             "inaccessible\n";
         k.files[kFolder + "config"] = std::string(64, '\xff');
       },
       {"d3cold-stuck"}},
      {"stuck in D3cold by the log, and it answers",
       [](FakeKernel& k) {
         k.log =
             "99.5 vfio-pci 0000:17:00.0: Unable to change power state from D3cold to D0, device "
             "inaccessible\n";
         k.files[kFolder + "config"] = "\xde\x10\x30\x23";
       },
       {}},
      {"stuck in D3hot",
       [](FakeKernel& k) {
         k.log = "99.5 pci 0000:17:00.0: Refused to change power state from D3hot to D0\n";
       },
       {"d3cold-stuck"},
       Severity::warning},
      {"awake, and does not fall asleep",
       [](FakeKernel& k) {
         k.log =
             "99.5 nvidia 0000:17:00.0: Refused to change power state from D0 to D3hot\n"
             "99.6 vfio-pci 0000:17:00.0: Refused to change power state, currently in D0\n";
       },
       {}},
      {"a reset of another kind, without a driver",
       [](FakeKernel& k) {
         k.log = "99.5 pci 0000:17:00.0: not ready 65535ms after PM D3hot->D0; giving up\n";
       },
       {"reset-failed"},
       Severity::warning},
      {"it did not come back from a reset",
       [](FakeKernel& k) {
         k.log = "99.5 vfio-pci 0000:17:00.0: not ready 65535ms after FLR; giving up\n";
         k.files[kFolder + "config"] = std::string(64, '\xff');
       },
       {"reset-failed"}},
      {"the boot frame buffer",
       [](FakeKernel& k) {
         k.log =
             "99.5 vfio-pci 0000:17:00.0: BAR 1: can't reserve [mem 0xc0000000-0xcfffffff 64bit "
             "pref]\n";
       },
       {"boot-framebuffer"},
       Severity::warning},
      {"the boot frame buffer, and it is there",
       [](FakeKernel& k) {
         k.log =
             "99.5 vfio-pci 0000:17:00.0: BAR 1: can't reserve [mem 0xc0000000-0xcfffffff 64bit "
             "pref]\n";
         k.files["/proc/iomem"] =
             "c0000000-dfffffff : PCI Bus 0000:16\n  c0000000-cfffffff : 0000:17:00.0\n"
             "    c0000000-c07fffff : BOOTFB\n";
       },
       {"boot-framebuffer"}},
      {"the boot frame buffer, for others than root",
       [](FakeKernel& k) {
         k.log =
             "99.5 vfio-pci 0000:17:00.0: BAR 1: can't reserve [mem 0xc0000000-0xcfffffff 64bit "
             "pref]\n";
         k.files["/proc/iomem"] =
             "00000000-00000000 : 0000:17:00.0\n  00000000-00000000 : BOOTFB\n";
       },
       {"boot-framebuffer"},
       Severity::warning},
      {"the boot frame buffer of another device",
       [](FakeKernel& k) {
         k.log =
             "99.5 vfio-pci 0000:17:00.0: BAR 1: can't reserve [mem 0xc0000000-0xcfffffff 64bit "
             "pref]\n";
         k.files["/proc/iomem"] =
             "c0000000-cfffffff : 0000:17:00.0\n  c0000000-cfffffff : nvidia\n"
             "d0000000-d0ffffff : 0000:18:00.0\n  d0000000-d07fffff : BOOTFB\n"
             "e0000000-e0ffffff : efifb\n";
       },
       {}},
      {"an IOMMU fault of it",
       [](FakeKernel& k) {
         k.log =
             "99.5 DMAR: [DMA Read NO_PASID] Request device [17:00.0] fault addr 0x7f000 [fault "
             "reason 0x06]\n";
       },
       {"iommu-faults"},
       Severity::warning},
      {"an SMMU's fault of it",
       [](FakeKernel& k) {
         k.log =
             "99.5 arm-smmu-v3 arm-smmu-v3.1.auto: event: F_TRANSLATION client: 0000:17:00.0 sid: "
             "0x1700 ssid: 0x0 iova: 0xdead\n";
       },
       {"iommu-faults"},
       Severity::warning},
      {"an older AMD IOMMU's fault of it",
       [](FakeKernel& k) {
         k.log =
             "99.5 AMD-Vi: Event logged [IO_PAGE_FAULT device=17:00.0 domain=0x0013 "
             "address=0xdead]\n";
       },
       {"iommu-faults"},
       Severity::warning},
      {"an IOMMU fault of one with a longer domain",
       [](FakeKernel& k) {
         k.log =
             "99.5 AMD-Vi: Event logged [IO_PAGE_FAULT device=10000:17:00.0 domain=0x13]\n"
             "99.6 AMD-Vi: Event logged [IO_PAGE_FAULT device=0001:17:00.0 domain=0x13]\n";
       },
       {}},
      {"an IOMMU fault of it where no IOMMU is on",
       [](FakeKernel& k) {
         k.forbidden.insert("/sys/kernel/iommu_groups");
         k.log =
             "99.5 DMAR: [DMA Read NO_PASID] Request device [17:00.0] fault addr 0x7f000 [fault "
             "reason 0x06]\n";
       },
       {"iommu-off"}},
      {"an IOMMU fault of another",
       [](FakeKernel& k) {
         k.log =
             "99.5 DMAR: [DMA Read NO_PASID] Request device [18:00.0] fault addr 0x7f000 [fault "
             "reason 0x06]\n";
       },
       {}},
      {"no reset",
       [](FakeKernel& k) { k.files[kFolder + "reset_method"] = "\n"; },
       {"no-reset"},
       Severity::warning},
      {"pci-stub has it", [](FakeKernel& k) { bind(k, "pci-stub"); }, {"other-pass-through"}},
      {"bound to VFIO by hand",
       [](FakeKernel& k) {
         bind(k, "vfio-pci");
         k.files[kFolder + "d3cold_allowed"] = "0\n";
       },
       {"bound-by-others"},
       Severity::info},
      {"bound by hand, and it may lose its power",
       [](FakeKernel& k) { bind(k, "vfio-pci"); },
       {"d3cold-allowed", "bound-by-others"},
       Severity::warning},
      {"an override that waits",
       [](FakeKernel& k) { k.devices[kGpuText].override_ = "vfio-pci"; },
       {"override-waits"},
       Severity::warning},
      {"no huge pages",
       [](FakeKernel& k) {
         for (const char* file : {"nr_hugepages", "free_hugepages"})
           k.files[std::string("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/") +
                   file] = "0\n";
       },
       {"no-huge-pages"},
       Severity::info},
      {"huge pages are there",
       [](FakeKernel& k) {
         for (const char* file : {"nr_hugepages", "free_hugepages"})
           k.files[std::string("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/") +
                   file] = "512\n";
       },
       {}},
  };
  for (const auto& one : cases) {
    FakeKernel kernel;
    fill(kernel);
    one.change(kernel);
    const auto findings = findings_of(kernel);
    std::vector<std::string> ids;
    for (const auto& finding : findings) {
      ids.push_back(finding.id);
      EXPECT_FALSE(finding.evidence.empty()) << one.name;
      EXPECT_FALSE(finding.cure.value_or("").empty()) << one.name;
    }
    EXPECT_EQ(ids, one.wanted) << one.name;
    EXPECT_TRUE(findings.empty() || findings.front().severity == one.severity) << one.name;
  }
}

// A group's lock, which a driver that hangs may hold, is waited for by a child.
TEST(VmHost, TypesOfGroupsAreAskedForInAdvance) {
  class Asked : public FakeKernel {
   public:
    void ask_driver(const std::vector<std::string>& paths) override {
      asked.push_back(paths);
      FakeKernel::ask_driver(paths);
    }
    std::vector<std::vector<std::string>> asked;
  } kernel;
  fill(kernel);
  const std::string type = "/sys/kernel/iommu_groups/1/type";
  kernel.files[type] = "DMA-FQ\n";
  const auto state = read_state(kernel, "/state");
  ASSERT_TRUE(state);
  kernel.asked.clear();
  const auto settings = read_host_settings(kernel, *state, {*parse_pci_address(kGpuText)});
  EXPECT_EQ(settings.translates, true);
  ASSERT_GE(kernel.asked.size(), 2u);
  EXPECT_EQ(kernel.asked[0], std::vector<std::string>{type});
  EXPECT_EQ(kernel.asked[1], std::vector<std::string>());  // its answers are not kept
  kernel.files[type] = "identity\n";
  EXPECT_EQ(read_host_settings(kernel, *state, {*parse_pci_address(kGpuText)}).translates, false);
}

TEST(VmHost, WhatTheJournalSaysIsHeldAgainstTheMachine) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  const AttachRequest request{.name = "guest-1", .devices = {*parse_pci_address(kGpuText)}};
  ASSERT_TRUE(attach(hands, request)->ok());
  EXPECT_TRUE(findings_of(kernel).empty());
  kernel.devices[kGpuText].bound = "nvidia";
  const auto lost = findings_of(kernel);
  ASSERT_FALSE(lost.empty());
  EXPECT_EQ(lost.front().id, "attached-not-bound");
  kernel.devices.erase(kGpuText);
  const auto machine = inspect(kernel, {.libraries = false});
  const auto state = read_state(kernel, "/state");
  ASSERT_TRUE(state);
  const auto gone = diagnose_host({machine, *state, {}, {}});
  EXPECT_TRUE(
      std::ranges::any_of(gone, [](const Finding& f) { return f.id == "attached-not-bound"; }));
}

TEST(VmHost, QuarantineAndOperationsThatDidNotEnd) {
  FakeKernel kernel;
  fill(kernel);
  auto hands = kernel.hands(kernel);
  const AttachRequest request{.name = "guest-1", .devices = {*parse_pci_address(kGpuText)}};
  ASSERT_TRUE(attach(hands, request)->ok());
  kernel.clean_passes = false;
  ASSERT_TRUE(detach(hands, "guest-1", {}));
  const auto findings = findings_of(kernel);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().id, "in-quarantine");
  kernel.devices[kGpuText].bound = "vfio-pci";  // which the quarantine explains
  for (const auto& finding : findings_of(kernel)) EXPECT_NE(finding.id, "bound-by-others");

  FakeKernel stuck;
  fill(stuck);
  stuck.devices[kGpuText].hangs_at = "unbind";
  auto others = stuck.hands(stuck);
  ASSERT_TRUE(attach(others, request));
  const auto not_ended = findings_of(stuck);
  ASSERT_FALSE(not_ended.empty());
  EXPECT_EQ(not_ended.front().id, "operation-not-ended");
}

}  // namespace
}  // namespace gpuready::vm
