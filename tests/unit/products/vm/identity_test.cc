#include "vm/identity.h"

#include <gtest/gtest.h>

#include "unit/products/vm/fake_kernel.h"

namespace gpuready::vm {
namespace {

constexpr char kText[] = "0000:17:00.0";
const std::string kFolder = FakeKernel::kBus + "devices/" + kText;

DeviceIdentity identified(FakeKernel& kernel) {
  kernel.add(kText, {});
  Device device;
  device.function.address = *parse_pci_address(kText);
  return identity_of(kernel, device);
}

// A configuration space with capabilities at these offsets: the id, and the offset of the next.
struct ExtendedCapability {
  std::size_t at;
  std::uint16_t id;
  std::uint16_t next;
};
std::optional<std::string> serial(const std::vector<ExtendedCapability>& capabilities,
                                  std::size_t bytes = 4096) {
  std::string config(4096, '\0');
  const auto put = [&](std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) config[at + i] = static_cast<char>(value >> (8 * i));
  };
  for (const auto& each : capabilities) {
    put(each.at, std::uint32_t{each.next} << 20 | 1u << 16 | each.id);
    put(each.at + 4, 0x55667788);
    put(each.at + 8, 0x11223344);
  }
  FakeKernel kernel;
  kernel.files[kFolder + "/config"] = config.substr(0, bytes);
  return identified(kernel).serial;
}

// PCI Express Base Specification, 7.6.3 and 7.9.3: the list of extended capabilities begins at
// 0x100 and ends with the offset 0; the one with the id 3 has the serial number, low half first.
TEST(VmIdentity, TheSerialNumberIsThatOfTheExtendedCapabilities) {
  EXPECT_EQ(serial({{0x100, 3, 0}}), "1122334455667788");
  EXPECT_EQ(serial({{0x100, 1, 0x148}, {0x148, 3, 0}}), "1122334455667788");
  EXPECT_EQ(serial({{0x100, 1, 0x148}, {0x148, 2, 0}}), std::nullopt);
  // Below 0x100 is another list, in another format.
  EXPECT_EQ(serial({{0x100, 1, 0}, {0, 3, 0}}), std::nullopt);
  EXPECT_EQ(serial({{0x100, 1, 0x40}, {0x40, 3, 0}}), std::nullopt);
}

TEST(VmIdentity, AListThatIsACircleOrCutOffHasNoSerialNumber) {
  EXPECT_EQ(serial({{0x100, 1, 0x100}}), std::nullopt);
  EXPECT_EQ(serial({{0x100, 1, 0x148}, {0x148, 2, 0x100}}), std::nullopt);
  EXPECT_EQ(serial({{0x100, 3, 0}}, 0x10c), "1122334455667788");
  EXPECT_EQ(serial({{0x100, 3, 0}}, 0x10b), std::nullopt);
  EXPECT_EQ(serial({}, 0), std::nullopt);
}

TEST(VmIdentity, TheSlotIsTheWayFromTheHostBridgeWithoutNumbersOfBuses) {
  const auto slot_at = [](const std::string& place) {
    FakeKernel kernel;
    kernel.places[kFolder] = place;
    return identified(kernel).slot;
  };
  EXPECT_EQ(slot_at("/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0"), "pci0000:16/01.0/00.0");
  EXPECT_EQ(slot_at("/sys/devices/platform/soc/pci0001:00/0001:00:1f.7"), "pci0001:00/1f.7");
  EXPECT_EQ(slot_at("/sys/devices/pci0000:16"), std::nullopt);
  EXPECT_EQ(slot_at("/sys/devices/other/0000:17:00.0"), std::nullopt);
}

}  // namespace
}  // namespace gpuready::vm
