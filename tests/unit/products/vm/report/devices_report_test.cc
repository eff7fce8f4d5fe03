#include "vm/report/devices_report.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuready {
namespace {

using vm::Device;
using vm::Readiness;

constexpr const char* kUuid = "b1f0a3f0-0000-4000-8000-000000000001";

PciAddress at(std::string_view address) { return *parse_pci_address(address); }

Device device(std::string_view address, Readiness readiness = Readiness::ready,
              std::string reason = "") {
  Device out;
  out.function.address = at(address);
  out.function.vendor_id = 0x10de;
  out.function.device_id = 0x22bb;
  out.function.class_code = 0x040300;
  out.around.readiness = readiness;
  out.around.reason = std::move(reason);
  return out;
}

// A GPU of which all is known.
Device gpu() {
  Device out = device("17:00.0", Readiness::in_use, "process 4711 (python3) uses it");
  vm::PciFunction& function = out.function;
  function.device_id = 0x2330;
  function.class_code = 0x030200;
  function.name = "GH100 [H100 SXM5 80GB]";
  function.driver = "nvidia";
  function.iommu_group = 27;
  function.numa_node = 0;
  function.reset_methods = {"flr", "bus"};
  function.bars = {
      {.index = 0, .bytes = 16u << 20, .prefetchable = true, .wide = true, .assigned = true},
      {.index = 2, .bytes = 96ull << 30, .wide = true},
      {.index = 4, .bytes = 4096, .assigned = true}};
  function.link_now = {4, 16};
  function.link_max = {5, 16};
  function.runtime_status = "active";
  function.vf_total = 16;
  function.vf_count = 2;
  function.mdev_types = {{"nvidia-63", "GRID P40-2Q", 3, {kUuid}}, {"nvidia-64", {}, {}, {}}};
  function.vgpu_type = "558";
  function.vgpu_types = {{"558", "NVIDIA A40-2Q"}, {"559", {}}};
  out.around.cure = "End it.";
  out.around.moves_together = {at("17:00.0"), at("17:00.1")};
  out.around.nodes = {"/dev/nvidia0", "/dev/dri/card1"};
  out.around.uses = {
      {.kind = "process", .what = "process 4711 (python3) holds /dev/nvidia0 open", .pid = 4711},
      {.kind = "persistence", .what = "persistence mode", .pid = {}, .ends_with_plan = true}};
  return out;
}

vm::MediatedDevice instance(Readiness readiness, std::string reason) {
  vm::MediatedDevice out;
  out.uuid = kUuid;
  out.parent = "0000:17:00.0";
  out.type = "nvidia-63";
  out.name = "GRID P40-2Q";
  out.around.readiness = readiness;
  out.around.reason = std::move(reason);
  return out;
}

// All that the inventory has.
VmDevices all(std::vector<Device> devices, bool in_full = false) {
  VmDevices out;
  out.in_full = in_full;
  for (const auto& each : devices) {
    out.shown.push_back(each.function.address);
    out.inventory.addresses.push_back(each.function.address);
  }
  out.inventory.devices = std::move(devices);
  return out;
}

TEST(VmDevices, TheListSaysOnceWhatDevicesLack) {
  auto devices =
      all({gpu(), device("17:00.1", Readiness::needs, "needs the IOMMU"),
           device("18:00.0", Readiness::needs, "needs the IOMMU"),
           device("19:00.0", Readiness::never, "the root disk is on it"), device("1a:00.0")});
  devices.shown.push_back(at("99:00.0"));  // of a machine that changed
  devices.inventory.instances = {instance(Readiness::ready, "")};
  devices.instances = {kUuid, "b1f0a3f0-0000-4000-8000-000000000002"};
  EXPECT_EQ(render_terminal(devices, {.columns = 120}),
            R"(Device        Name                     Driver  Group  NUMA       MMIO  State
0000:17:00.0  NVIDIA H100 SXM5 80GB    nvidia     27     0  128.0 GiB  in use
0000:17:00.1  NVIDIA device 10de:22bb  -           -     -          -  needs
0000:18:00.0  NVIDIA device 10de:22bb  -           -     -          -  needs
0000:19:00.0  NVIDIA device 10de:22bb  -           -     -          -  never
0000:1a:00.0  NVIDIA device 10de:22bb  -           -     -          -  ready

2 devices: needs the IOMMU
0000:17:00.0 process 4711 (python3) uses it
0000:19:00.0 the root disk is on it

vGPU                                  Kind         Of            State
b1f0a3f0-0000-4000-8000-000000000001  GRID P40-2Q  0000:17:00.0  ready

2 of 6 devices can be given to a virtual machine.
)");
}

TEST(VmDevices, InFullADeviceIsShownWithAllThatIsKnown) {
  EXPECT_EQ(render_terminal(
                all({gpu(), device("17:00.1", Readiness::needs, "needs the IOMMU")}, true), {}),
            R"(0000:17:00.0  NVIDIA H100 SXM5 80GB
  State           in use: process 4711 (python3) uses it
  Cure            End it.
  Ids             10de:2330, class 030200
  Driver          nvidia
  IOMMU group     27
  Moves with      0000:17:00.0 0000:17:00.1
  Reset           flr
  BAR 0           16 MiB, 64 bits, prefetchable
  BAR 2           96 GiB, 64 bits, no address was found for it
  BAR 4           4 KiB
  MMIO            128.0 GiB
  Link            gen 4 of 5, x16
  NUMA node       0
  Power           active
  SR-IOV          2 of 16 virtual functions exist
  vGPU            GRID P40-2Q (nvidia-63): 3 more can be made, 1 exist
  vGPU            nvidia-64 (nvidia-64): - more can be made, 0 exist
  vGPU type       558
  It can become   558 (NVIDIA A40-2Q)
  It can become   559
  Nodes           /dev/nvidia0 /dev/dri/card1
  Used            process 4711 (python3) holds /dev/nvidia0 open
  Used            persistence mode (vm attach ends it)

0000:17:00.1  NVIDIA device 10de:22bb
  State           needs the IOMMU
  Ids             10de:22bb, class 040300
  Driver          none
  IOMMU group     -
  Reset           none that the kernel knows
  MMIO            -
  NUMA node       -

0 of 2 devices can be given to a virtual machine.
)");
}

TEST(VmDevices, AVirtualFunctionMayHaveNoVgpu) {
  auto one = device("17:00.4");
  const auto has = [&](std::string_view line) {
    return render_terminal(all({one}, true), {}).contains(line);
  };
  EXPECT_FALSE(has("vGPU type"));
  one.function.vgpu_type = "0";
  EXPECT_TRUE(has("\n  vGPU type       none\n"));
  one.function.vf_total = 0;
  EXPECT_FALSE(has("SR-IOV"));
  one.function.vf_total = 1;
  EXPECT_TRUE(has("\n  SR-IOV          0 of 1 virtual functions exist\n"));
}

// Linux, vfio.h, VFIO_DEVICE_PCI_HOT_RESET: of all functions on a bus, where a bridge is above it.
TEST(VmDevices, ADeviceIsResetAsADetachWould) {
  struct {
    std::vector<std::string> methods;
    bool behind_bridge;
    const char* reset;
  } const kCases[] = {{{"flr"}, true, "flr"},
                      {{"bus"}, true, "through VFIO, with all functions on its bus"},
                      {{"bus"}, false, "none without resetting others on its bus"},
                      {{}, false, "none that the kernel knows"}};
  for (const auto& [methods, behind_bridge, reset] : kCases) {
    auto one = device("17:00.0");
    one.function.reset_methods = methods;
    one.function.behind_bridge = behind_bridge;
    one.around.moves_together = {at("17:00.0"), at("17:00.1")};
    const auto text = render_terminal(all({one, device("17:00.1")}, true), {});
    EXPECT_TRUE(text.contains(std::string("\n  Reset           ") + reset + "\n")) << text;
  }
}

TEST(VmDevices, OfInstancesAloneTheirTableIsShown) {
  VmDevices devices;
  devices.inventory.instances = {instance(Readiness::in_use, "attached to guest-1")};
  devices.inventory.instances[0].name.reset();
  devices.instances = {kUuid};
  for (const bool in_full : {false, true}) {
    devices.in_full = in_full;
    EXPECT_EQ(render_terminal(devices, {}),
              "vGPU                                  Kind       Of            State\n"
              "b1f0a3f0-0000-4000-8000-000000000001  nvidia-63  0000:17:00.0  in use\n"
              "\n"
              "b1f0a3f0-0000-4000-8000-000000000001 attached to guest-1\n"
              "0 of 1 device can be given to a virtual machine.\n");
  }
}

TEST(VmDevices, WhatCouldNotBeReadIsSaidAlsoIfQuiet) {
  VmDevices none;
  EXPECT_EQ(render_terminal(none, {}),
            "This machine has no device that can be given to a virtual machine.\n");
  none.inventory.unseen = {"/state: only root may see it"};
  none.inventory.bus_unread = "the PCI bus cannot be read (denied)";
  EXPECT_EQ(render_terminal(none, {}),
            "not seen: /state: only root may see it\n"
            "\n"
            "Cannot tell whether a device is here: the PCI bus cannot be read (denied).\n");
  EXPECT_EQ(render_terminal(none, {.quiet = true}), "not seen: /state: only root may see it\n");
  none.inventory.devices = {device("17:00.0")};
  none.shown = {at("17:00.0")};
  EXPECT_EQ(conclusion(none), "1 of 1 device can be given to a virtual machine.");
}

}  // namespace
}  // namespace gpuready
