// No cure takes the picture from a display unsaid, and a display-only GPU is healthy.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "doctor/commands.h"
#include "machine/gpu_use.h"
#include "machine/system/kernel_drivers.h"
#include "machines.h"
#include "unit/machine_folders.h"

namespace gpuready::test {
namespace {

// Words of what stops a driver or what draws through it. Written down apart from the doctor's own
// list on purpose.
constexpr std::array kTaking = {"unbind",         "Unbind",      "blacklist",  "Blacklist",
                                "rmmod",          "modprobe -r", "isolate",    "-reset",
                                "reset it",       "efifb:off",   "sysfb_init", "override",
                                "systemctl stop", "init 3",      "telinit"};

bool takes(std::string text) {
  // A tool of the host, while the machine that has the GPU is stopped.
  const std::string_view tool = "--reset-after-cc-mode-switch";
  if (const auto at = text.find(tool); at != text.npos) text.erase(at, tool.size());
  return std::ranges::any_of(kTaking, [&](const char* word) {
    // The unified memory module draws nothing.
    return contains(text, word) && !(contains(text, "nvidia_uvm") && !contains(text, "nvidia_drm"));
  });
}

void expect_spared(const Finding& finding, const Machine& machine, const std::string& name) {
  const bool all = finding.gpus.empty() && finding.pci.empty();
  const bool draws = std::ranges::any_of(machine.pci, [&](const PciDevice& device) {
    return (all || std::ranges::find(finding.pci, device.address) != finding.pci.end()) &&
           drives_display(machine, device) != DrivesDisplay::no;
  });
  if (draws) {
    const std::string where = name + ", " + finding.id;
    const std::string cure = finding.cure.value_or("");
    EXPECT_FALSE(takes(finding.command.value_or(""))) << where << ": " << *finding.command;
    EXPECT_FALSE(takes(cure.substr(0, cure.find_first_of(".;")))) << where << ": " << cure;
    if (takes(cure)) {
      EXPECT_TRUE(contains(cure, "takes the picture")) << where << ": " << cure;
    }
  }
  for (const auto& inner : finding.explains) expect_spared(inner, machine, name);
}

TEST(Displays, NoFirstCureTakesThePicture) {
  for (const auto& name : walked(machine_names())) {
    auto machine = machine_of(name);
    for (const auto& finding : diagnose(machine)) expect_spared(finding, machine, name);
    // The same trouble on GPUs that each drive a display.
    for (auto& device : machine.pci) {
      if (!device.is_gpu) continue;
      device.class_code = 0x030000;
      device.display_connected = true;
    }
    for (const bool asked : {false, true})
      for (const auto& finding : diagnose(machine, {.expected_gpus = {}, .compute_asked = asked}))
        expect_spared(finding, machine, name + " with displays");
  }
}

TEST(Displays, CommandThatTakesThePictureIsFound) {
  for (const char* command :
       {"nvidia-smi --gpu-reset -i 0000:01:00.0", "modprobe -r amdgpu",
        "systemctl isolate multi-user", "echo 0000:01:00.0 > /sys/bus/pci/drivers/radeon/unbind",
        "rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia"})
    EXPECT_TRUE(doctor::takes_picture(command)) << command;
  for (const char* command : {"reboot", "rmmod nvidia_uvm && modprobe nvidia_uvm",
                              "modprobe nvidia", "systemctl restart nvidia-fabricmanager"})
    EXPECT_FALSE(doctor::takes_picture(command)) << command;
}

PciDevice device_of(std::uint32_t class_code) {
  PciDevice device;
  device.address = address(1);
  device.vendor_id = 0x10de;
  device.class_code = class_code;
  device.driver = "nouveau";
  device.is_gpu = true;
  return device;
}

TEST(Displays, WhatDrivesOneFollowsFromOutputsConsoleAndClass) {
  struct Case {
    std::uint32_t class_code;
    std::optional<bool> connected, console;
    DrivesDisplay expected;
  };
  for (const auto& [class_code, connected, console, expected] : std::initializer_list<Case>{
           {0x030000, true, false, DrivesDisplay::yes},
           {0x030200, true, std::nullopt, DrivesDisplay::yes},  // a laptop's second GPU
           {0x030000, false, false, DrivesDisplay::no},
           {0x030000, false, true, DrivesDisplay::maybe},  // a text console that nobody looks at
           {0x030000, std::nullopt, std::nullopt, DrivesDisplay::maybe},
           {0x030200, std::nullopt, std::nullopt, DrivesDisplay::no},
           {0x038000, std::nullopt, std::nullopt, DrivesDisplay::no}}) {
    Machine machine;
    auto device = device_of(class_code);
    device.display_connected = connected;
    device.boot_vga = console;
    machine.pci.push_back(device);
    EXPECT_EQ(drives_display(machine, device), expected)
        << std::hex << class_code << " " << static_cast<int>(expected);
  }
  Machine machine;
  machine.pci = {device_of(0x030000), device_of(0x030000)};
  machine.pci[1].boot_vga = true;  // a BMC's
  EXPECT_EQ(drives_display(machine, machine.pci[0]), DrivesDisplay::no);
  machine.pci[1].boot_vga.reset();
  EXPECT_EQ(drives_display(machine, machine.pci[0]), DrivesDisplay::maybe);
  machine.pci[0].driver = "nvidia";
  EXPECT_EQ(drives_display(machine, machine.pci[0]), DrivesDisplay::no);
  machine.pci[1].boot_vga = true;
  machine.pci[1].driver = "vfio-pci";
  EXPECT_EQ(drives_display(machine, machine.pci[1]), DrivesDisplay::no);
}

TEST(Displays, DisplayOnlyGpuIsHealthyUntilComputeIsAskedFor) {
  for (const char* name :
       {"healthy-nouveau-desktop", "healthy-nouveau-laptop", "healthy-radeon-desktop"}) {
    const auto machine = machine_of(name);
    const auto severity = [&](const DiagnoseOptions& options) {
      Severity worst = Severity::info;
      for (const auto& finding : diagnose(machine, options))
        worst = std::max(worst, finding.severity);
      return worst;
    };
    EXPECT_EQ(severity({}), Severity::info) << name;
    EXPECT_EQ(severity({.expected_gpus = {}, .compute_asked = true}), Severity::error) << name;
    EXPECT_EQ(severity({.expected_gpus = 1}), Severity::error) << name;
    EXPECT_EQ(access_to(machine, machine.gpus.back()).use, GpuUse::display_only) << name;
  }
}

TEST(Displays, ComputeIsAskedForByWhatIsInstalledAndByTheKindOfMachine) {
  const auto error = [](const Machine& machine) {
    return std::ranges::any_of(diagnose(machine), [](const Finding& finding) {
      return finding.severity == Severity::error;
    });
  };
  const auto desktop = machine_of("healthy-nouveau-desktop");
  auto machine = desktop;
  EXPECT_FALSE(error(machine));
  machine.toolkits.push_back({"cuda", "12.8", "/usr/local/cuda", false, {}});
  EXPECT_TRUE(error(machine));
  machine = desktop;
  machine.nvidia.libraries.push_back({"libcuda.so.1", "/usr/lib/libcuda.so.1", {}, {}});
  EXPECT_TRUE(error(machine));
  machine = desktop;
  machine.visibility.cuda_visible_devices = "0";
  EXPECT_TRUE(error(machine));
  machine = desktop;
  machine.container.runtime = "docker";
  EXPECT_TRUE(error(machine));
  machine = desktop;
  machine.system.chassis_type = 23;  // a rack
  EXPECT_TRUE(error(machine));
  machine = desktop;
  for (int i = 0; i < 2; ++i) {  // three cards
    machine.pci.push_back(machine.pci[0]);
    machine.pci.back().address = address(2 + i);
  }
  EXPECT_TRUE(error(machine));
  machine = desktop;
  machine.system.hypervisor = "kvm";
  EXPECT_FALSE(error(machine));  // passed through with its display
  machine.pci[0].display_connected.reset();
  EXPECT_TRUE(error(machine));
  machine = desktop;
  machine.pci[0].display_connected = false;
  machine.pci[0].boot_vga = false;
  EXPECT_TRUE(error(machine));  // nothing shows what it draws
}

}  // namespace
}  // namespace gpuready::test
