#include "vm/pci_function.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/machine/scripted.h"

namespace gpuready::vm {
namespace {

constexpr char kH100[] = R"("files":{
  "/sys/bus/pci/devices/0000:17:00.0/vendor":"0x10de\n",
  "/sys/bus/pci/devices/0000:17:00.0/device":"0x2330\n",
  "/sys/bus/pci/devices/0000:17:00.0/class":"0x030200\n",
  "/sys/bus/pci/devices/0000:17:00.0/driver_override":"(null)\n",
  "/sys/bus/pci/devices/0000:17:00.0/numa_node":"-1\n",
  "/sys/bus/pci/devices/0000:17:00.0/reset_method":"flr bus\n",
  "/sys/bus/pci/devices/0000:17:00.0/power/runtime_status":"STATUS\n",
  "/sys/bus/pci/devices/0000:17:00.0/current_link_speed":"32.0 GT/s PCIe\n",
  "/sys/bus/pci/devices/0000:17:00.0/sriov_totalvfs":"16\n",
  "/sys/bus/pci/devices/0000:17:00.0/sriov_numvfs":"1\n",
  "/sys/bus/pci/devices/0000:17:00.0/resource":"0x0000000090000000 0x0000000090ffffff 0x0000000000040200\n0x0000000000000000 0x0000000000000000 0x0000000000000000\n0x0000020000000000 0x0000021fffffffff 0x000000000014220c\n"},
 "links":{
  "/sys/bus/pci/devices/0000:17:00.0/iommu_group":"../../../kernel/iommu_groups/41",
  "/sys/bus/pci/devices/0000:17:00.0/virtfn0":"../0000:17:00.4",
  "/sys/bus/pci/devices/0000:17:00.0/driver":"../../../bus/pci/drivers/nvidia"})";

std::string with_status(std::string status) {
  std::string text = kH100;
  text.replace(text.find("STATUS"), 6, status);
  return text;
}

constexpr PciAddress kAddress{0, 0x17, 0, 0};

TEST(PciFunction, WhatSysfsShows) {
  const auto host = scripted(with_status("active"));
  auto function = read_pci_function(*host, kAddress);
  ASSERT_TRUE(function);
  std::vector<std::string> unclear;
  const LockedRead one[] = {{&*function, &unclear}};
  read_locked_attributes(*host, one);
  EXPECT_EQ(function->vendor_id, 0x10de);
  EXPECT_EQ(function->driver, "nvidia");
  EXPECT_EQ(function->driver_override, std::nullopt);  // "(null)"
  EXPECT_EQ(function->numa_node, std::nullopt);        // -1
  EXPECT_EQ(function->iommu_group, 41);
  EXPECT_EQ(function->reset_methods, (std::vector<std::string>{"flr", "bus"}));
  EXPECT_EQ(function->link_now.generation, 5);
  EXPECT_EQ(function->virtual_functions, std::vector{*parse_pci_address("0000:17:00.4")});
  ASSERT_EQ(function->bars.size(), 2u);
  EXPECT_EQ(function->bars[1].index, 2);
  EXPECT_TRUE(function->bars[1].wide && function->bars[1].prefetchable);
  EXPECT_EQ(mmio_bytes(function->bars), (16ull << 20) + (128ull << 30));
}

// The kernel writes "(null)" for none.
TEST(PciFunction, TheDriverThatIsForcedIsAName) {
  const auto override_of = [](const std::string& value) {
    std::string text = with_status("active");
    text.replace(text.find("(null)"), 6, value);
    const auto host = scripted(text);
    auto function = read_pci_function(*host, kAddress);
    EXPECT_TRUE(function);
    std::vector<std::string> unclear;
    const LockedRead one[] = {{&*function, &unclear}};
    read_locked_attributes(*host, one);
    return function->driver_override;
  };
  EXPECT_EQ(override_of("vfio-pci"), "vfio-pci");
  EXPECT_EQ(override_of("(null)"), std::nullopt);
  EXPECT_EQ(override_of(""), std::nullopt);
}

// Linux, Documentation/driver-api/vfio-mediated-device.rst.
TEST(PciFunction, KindsOfMediatedDevicesAndWhatExistsOfThem) {
  std::string text = with_status("active");
  const auto add = [&](std::string_view section, std::string_view name, std::string_view content) {
    text.insert(text.find(section) + section.size(),
                fmt::format(R"("/sys/bus/pci/devices/0000:17:00.0/mdev_supported_types/{}":"{}",)",
                            name, content));
  };
  const std::string uuid = "aa618089-8b16-4d01-a136-25a0f3c73123";
  add("\"files\":{", "nvidia-63/name", "GRID P40-2Q\\n");
  add("\"files\":{", "nvidia-63/available_instances", "3\\n");
  add("\"links\":{", "nvidia-63/devices/" + uuid, "../../../" + uuid);
  add("\"files\":{", "nvidia-64/available_instances", "-1\\n");
  const auto host = scripted(text);
  auto function = read_pci_function(*host, kAddress);
  ASSERT_TRUE(function);
  std::vector<std::string> unclear;
  const LockedRead one[] = {{&*function, &unclear}};
  read_locked_attributes(*host, one);
  EXPECT_EQ(unclear, std::vector<std::string>());
  ASSERT_EQ(function->mdev_types.size(), 2u);
  const auto& full = function->mdev_types[0];
  EXPECT_EQ(full.id, "nvidia-63");
  EXPECT_EQ(full.name, "GRID P40-2Q");
  EXPECT_EQ(full.available, 3);
  EXPECT_EQ(full.instances, std::vector{uuid});
  const auto& bare = function->mdev_types[1];
  EXPECT_EQ(bare.id, "nvidia-64");
  EXPECT_EQ(bare.name, std::nullopt);
  EXPECT_EQ(bare.available, std::nullopt);
  EXPECT_TRUE(bare.instances.empty());
}

TEST(PciFunction, SuspendedOneKeepsItsConfigurationSpaceToItself) {
  const auto host = scripted(with_status("suspended"));
  const auto function = read_pci_function(*host, kAddress);
  ASSERT_TRUE(function);
  EXPECT_FALSE(function->link_now.generation);
}

TEST(PciFunction, AbsentOneIsAnError) {
  const auto function = read_pci_function(*scripted("\"files\":{}"), kAddress);
  ASSERT_FALSE(function);
  EXPECT_EQ(function.error().kind, ErrorKind::not_found);
}

TEST(PciFunction, HostileResources) {
  EXPECT_TRUE(parse_bars("0x5 0x4 0x200\nx").empty());
  const auto whole = parse_bars("0x0 0xffffffffffffffff 0x200\n0x0 0xffffffffffffffff 0x200\n");
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_FALSE(whole[0].assigned);
  EXPECT_EQ(mmio_bytes(whole), UINT64_MAX);
}

// The seventh line is the option ROM, and those after it are windows of bridges.
TEST(PciFunction, OnlyTheFirstSixResourcesAreBars) {
  std::string text;
  for (int line = 0; line < 9; ++line)
    text += fmt::format("0x{0}0000000 0x{0}0000fff 0x40200\n", line + 1);
  const auto bars = parse_bars(text);
  ASSERT_EQ(bars.size(), 6u);
  EXPECT_EQ(bars.back().index, 5);
}

}  // namespace
}  // namespace gpuready::vm
