#include "vm/hot_reset.h"

#include <gtest/gtest.h>

namespace gpuready::vm {
namespace {

using Texts = std::vector<std::string>;

// As the kernel lists it: 5 bits of the device and 3 of the function are one byte.
vfio_pci_dependent_device function(unsigned group, unsigned segment, unsigned bus, unsigned device,
                                   unsigned number) {
  vfio_pci_dependent_device out{};
  out.group_id = group;
  out.segment = static_cast<std::uint16_t>(segment);
  out.bus = static_cast<std::uint8_t>(bus);
  out.devfn = static_cast<std::uint8_t>(device << 3 | number);
  return out;
}

Result<Texts> groups(std::vector<vfio_pci_dependent_device> reached, const Texts& allowed,
                     const Texts& held) {
  return groups_of_reset("0000:17:00.0", reached, allowed, held);
}

TEST(VmHotReset, NeedsTheGroupsOfAllThatItReaches) {
  const auto gpu = function(9, 0, 0x17, 0, 0), audio = function(9, 0, 0x17, 0, 1),
             last = function(12, 0xabcd, 0xfe, 0x1f, 7);
  const Texts allowed{"0000:17:00.0", "0000:17:00.1", "abcd:fe:1f.7"};
  EXPECT_EQ(groups({gpu}, allowed, {"12", "9"}), Texts{"9"});
  EXPECT_EQ(groups({gpu, audio}, allowed, {"9"}), Texts{"9"});
  EXPECT_EQ(groups({gpu, last, audio}, allowed, {"12", "9"}), (Texts{"9", "12"}));
}

TEST(VmHotReset, ReachesNoOther) {
  const auto gpu = function(9, 0, 0x17, 0, 0), other = function(9, 0, 0x17, 1, 6);
  const auto refused = [&](const Texts& allowed, const Texts& held) {
    const auto result = groups({gpu, other}, allowed, held);
    EXPECT_TRUE(result || result.error().kind == ErrorKind::busy);
    return result ? "" : result.error().message;
  };
  const Texts both{"0000:17:00.0", "0000:17:01.6"};
  EXPECT_EQ(refused(both, {"9"}), "");
  EXPECT_EQ(refused({"0000:17:00.0"}, {"9"}),  // of a group that is ours
            "0000:17:00.0: its reset would reset 0000:17:01.6, too");
  EXPECT_EQ(refused(both, {"8"}), "0000:17:00.0: its reset would reset 0000:17:00.0, too");
}

}  // namespace
}  // namespace gpuready::vm
