#include "machine/system/kernel_drivers.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>

namespace gpuready {
namespace {

PciDevice gpu_on_bus(int bus, std::uint16_t vendor_id, std::optional<std::string> driver) {
  PciDevice device;
  device.address = {0, static_cast<std::uint8_t>(bus), 0, 0};
  device.vendor_id = vendor_id;
  device.class_code = 0x030000;
  device.driver = std::move(driver);
  device.is_gpu = true;
  return device;
}

TEST(KernelDrivers, AGpuIsUnboundWithoutItsVendorsDriver) {
  struct Row {
    std::uint16_t vendor_id;
    const char* driver;
    bool unbound;
  };
  for (const auto& [vendor_id, driver, is_unbound] :
       std::initializer_list<Row>{{0x10de, "nvidia", false},
                                  {0x10de, "nouveau", true},
                                  {0x10de, "amdgpu", true},
                                  {0x1002, "amdgpu", false},
                                  {0x1002, "radeon", true},
                                  {0x8086, "xe", false},
                                  {0x8086, "i915", false},
                                  {0x8086, "vfio-pci", true},
                                  {0x1a03, "ast", false}}) {
    auto device = gpu_on_bus(1, vendor_id, driver);
    EXPECT_EQ(unbound(device), is_unbound) << driver;
    device.driver.reset();
    EXPECT_EQ(unbound(device), vendor_id != 0x1a03) << "no driver in place of " << driver;
  }
}

TEST(KernelDrivers, TheProcessorsGraphicsAreSpareOnlyBesideAGpuThatItsDriverRuns) {
  struct Row {
    std::optional<std::string> own, others;
    bool integrated, other_is_gpu, spare;
  };
  for (const auto& [own, others, integrated, other_is_gpu, spare] :
       std::initializer_list<Row>{{{}, "nvidia", true, true, true},
                                  {"vfio-pci", "nvidia", true, true, true},
                                  {"i915", "nvidia", true, true, false},
                                  {{}, "nvidia", false, true, false},
                                  {{}, "nvidia", true, false, false},
                                  {{}, "vfio-pci", true, true, false},
                                  {{}, "nouveau", true, true, false},
                                  {{}, {}, true, true, false}}) {
    Machine machine;
    machine.pci = {gpu_on_bus(0, 0x8086, own), gpu_on_bus(1, 0x10de, others)};
    machine.pci[1].is_gpu = other_is_gpu;
    auto& gpu = machine.gpus.emplace_back();
    gpu.pci = machine.pci[0].address;
    gpu.integrated = integrated;
    EXPECT_EQ(is_spare(machine, machine.pci[0]), spare)
        << own.value_or("none") << " beside " << others.value_or("none");
    machine.pci.pop_back();
    EXPECT_FALSE(is_spare(machine, machine.pci[0])) << "it is the only one";
  }
}

TEST(KernelDrivers, OnlyADriverForDisplaysMakesAGpuDisplayOnly) {
  for (const auto& [driver, display_only] : {std::pair("nouveau", true),
                                             {"nvidiafb", true},
                                             {"nvidia", false},
                                             {"vfio-pci", false},
                                             {"", false}}) {
    Machine machine;
    machine.pci = {gpu_on_bus(1, 0x10de, driver)};
    if (std::string_view(driver).empty()) machine.pci[0].driver.reset();
    machine.pci[0].display_connected = true;
    EXPECT_EQ(is_display_only(machine, machine.pci[0]), display_only) << driver;
    machine.container.runtime = "docker";
    EXPECT_FALSE(is_display_only(machine, machine.pci[0])) << driver;
  }
}

}  // namespace
}  // namespace gpuready
