#include "health/bandwidth/link_facts.h"

#include <gtest/gtest.h>

#include "unit/machine/scripted.h"

namespace gpuready {
namespace {

TEST(LinkFacts, RawRatesFollowTheLineCodeOfEachGeneration) {
  EXPECT_DOUBLE_EQ(*raw_link_rate({1, 16}), 4e9);
  EXPECT_DOUBLE_EQ(*raw_link_rate({2, 16}), 8e9);
  EXPECT_NEAR(*raw_link_rate({3, 16}), 15.754e9, 1e6);
  EXPECT_NEAR(*raw_link_rate({4, 16}), 31.508e9, 1e6);
  EXPECT_NEAR(*raw_link_rate({5, 16}), 63.015e9, 1e6);
  EXPECT_NEAR(*raw_link_rate({6, 16}), 118.0e9, 1e6);
  EXPECT_NEAR(*raw_link_rate({4, 8}), 15.754e9, 1e6);
}

TEST(LinkFacts, WhatIsNotKnownHasNoRate) {
  EXPECT_FALSE(raw_link_rate({}));
  EXPECT_FALSE(raw_link_rate({5, std::nullopt}));
  EXPECT_FALSE(raw_link_rate({7, 16}));
  EXPECT_EQ(describe_link({}), "PCIe of unknown generation");
}

TEST(LinkFacts, TheMostIsWhatBothEndsCanDo) {
  auto host = scripted(R"("files":{
    "/sys/devices/pci0000:16/0000:16:01.0/max_link_speed":"16.0 GT/s PCIe",
    "/sys/devices/pci0000:16/0000:16:01.0/max_link_width":"16",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/current_link_speed":"8.0 GT/s PCIe",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/current_link_width":"16",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/max_link_speed":"32.0 GT/s PCIe",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/max_link_width":"16"},
    "links":{"/sys/bus/pci/devices/0000:17:00.0":"../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0"})");
  const LinkFacts facts = read_link_facts(*host, "0000:17:00.0");
  EXPECT_EQ(facts.now.generation, 3);
  EXPECT_EQ(facts.most.generation, 4);
  EXPECT_EQ(facts.most.width, 16);
  EXPECT_TRUE(facts.reduced());
  EXPECT_TRUE(facts.port_seen);
}

// QEMU's ports claim one lane of the first generation.
TEST(LinkFacts, APortThatClaimsLessThanWhatRunsIsNotReal) {
  auto host = scripted(R"("files":{
    "/sys/devices/pci0000:00/0000:00:01.0/max_link_speed":"2.5 GT/s PCIe",
    "/sys/devices/pci0000:00/0000:00:01.0/max_link_width":"1",
    "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/current_link_speed":"16.0 GT/s PCIe",
    "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/current_link_width":"16",
    "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/max_link_speed":"16.0 GT/s PCIe",
    "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/max_link_width":"16"},
    "links":{"/sys/bus/pci/devices/0000:01:00.0":"../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0"})");
  const LinkFacts facts = read_link_facts(*host, "0000:01:00.0");
  EXPECT_EQ(facts.most.width, 16);
  EXPECT_FALSE(facts.port_seen);
  EXPECT_FALSE(facts.reduced());
}

TEST(LinkFacts, AHiddenLinkIsUnknownAndNotReduced) {
  auto host = scripted(R"("files":{})");
  const LinkFacts facts = read_link_facts(*host, "0000:17:00.0");
  EXPECT_FALSE(facts.now.generation);
  EXPECT_FALSE(facts.most.width);
  EXPECT_FALSE(facts.reduced());
}

}  // namespace
}  // namespace gpuready
