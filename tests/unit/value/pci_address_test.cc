#include <gtest/gtest.h>

#include "gpuready/machine.h"

namespace gpuready {
namespace {

TEST(PciAddress, IsWrittenAsSysfsWritesIt) {
  EXPECT_EQ((PciAddress{0, 0x17, 0, 0}).text(), "0000:17:00.0");
  EXPECT_EQ((PciAddress{0x10000, 0xAB, 31, 7}).text(), "10000:ab:1f.7");
}

TEST(PciAddress, ReadsEveryCommonForm) {
  const PciAddress address{0, 0x17, 0, 0};
  for (const char* text : {"0000:17:00.0", "00000000:17:00.0", "17:00.0", " 0000:17:00.0\n"})
    EXPECT_EQ(parse_pci_address(text), address) << text;
  EXPECT_EQ(parse_pci_address("0001:AF:1F.3"), (PciAddress{1, 0xaf, 31, 3}));
}

TEST(PciAddress, RefusesAnythingElse) {
  for (const char* text : {"", "0000:17:00", "0000:17:00.8", "0000:17:20.0", "0000:1ff:00.0",
                           "0000:17:00.0x", "x:17:00.0", "000000000:17:00.0", ":17:00.0", "17:.0",
                           "0000:+1:00.0", "0000:-1:00.0", "....", "::::"})
    EXPECT_EQ(parse_pci_address(text), std::nullopt) << text;
}

}  // namespace
}  // namespace gpuready
