#include "health/bandwidth/link_facts.h"

#include <gtest/gtest.h>

#include "machine/pci/pci_files.h"
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
    "links":{"/sys/bus/pci/devices/0000:17:00.0":"../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0",
      "/sys/bus/pci/devices/0000:16:01.0":"../../../devices/pci0000:16/0000:16:01.0"})");
  const LinkFacts facts = read_link_facts(*host, "0000:17:00.0");
  EXPECT_EQ(facts.now.generation, 3);
  EXPECT_EQ(facts.most.generation, 4);
  EXPECT_EQ(facts.most.width, 16);
  EXPECT_TRUE(facts.slow());
  EXPECT_FALSE(facts.target_read);  // no configuration space is here to read
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
    "links":{"/sys/bus/pci/devices/0000:01:00.0":"../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0",
      "/sys/bus/pci/devices/0000:00:01.0":"../../../devices/pci0000:00/0000:00:01.0"})");
  const LinkFacts facts = read_link_facts(*host, "0000:01:00.0");
  EXPECT_EQ(facts.most.width, 16);
  EXPECT_FALSE(facts.port_seen);
  EXPECT_FALSE(facts.slow() || facts.narrow());
}

TEST(LinkFacts, AHiddenLinkIsUnknownAndNotReduced) {
  auto host = scripted(R"("files":{})");
  const LinkFacts facts = read_link_facts(*host, "0000:17:00.0");
  EXPECT_FALSE(facts.now.generation);
  EXPECT_FALSE(facts.most.width);
  EXPECT_FALSE(facts.slow() || facts.narrow());
}

// A configuration space with a PCI Express capability at 0x60 behind another at 0x40.
std::string config_with_target(int generation) {
  std::string config(256, '\0');
  config[0x06] = 0x10;
  config[0x34] = 0x40;
  config[0x40] = 0x01, config[0x41] = 0x60;
  config[0x60] = 0x10, config[0x62] = 0x42;
  config[0x60 + 0x30] = static_cast<char>(generation);
  return config;
}

TEST(TargetGeneration, IsReadFromTheCapabilityAndNowhereElse) {
  EXPECT_EQ(parse_target_generation(config_with_target(3)), 3);
  EXPECT_EQ(parse_target_generation(config_with_target(5)), 5);
  // The kernel sets 2.5 GT/s where a link did not train: nobody's wish.
  EXPECT_EQ(parse_target_generation(config_with_target(1)), std::nullopt);
  EXPECT_EQ(parse_target_generation(config_with_target(0)), std::nullopt);
  EXPECT_EQ(parse_target_generation(config_with_target(3).substr(0, 64)), std::nullopt);
  EXPECT_EQ(parse_target_generation(""), std::nullopt);
  auto circle = config_with_target(3);
  circle[0x41] = 0x40;
  EXPECT_EQ(parse_target_generation(circle), std::nullopt);
  auto first_version = config_with_target(3);
  first_version[0x62] = 0x41;
  EXPECT_EQ(parse_target_generation(first_version), std::nullopt);
}

TEST(LinkFacts, APortThatIsSetLowerLimitsTheLinkAndDoesNotSlowIt) {
  TrainedLink link{{3, 16}, {5, 16}, 3, true};
  EXPECT_TRUE(link.limited());
  EXPECT_FALSE(link.slow());
  link.now.generation = 2;  // below what it is set to
  EXPECT_TRUE(link.slow());
  EXPECT_FALSE(link.limited());
  link.target.reset();
  link.now.generation = 4;
  EXPECT_TRUE(link.slow());
}

TEST(LinkFacts, OnlyWhatIsKnownOfBothEndsIsCompared) {
  using Most = std::optional<int>;
  const auto narrow = [](Most now, Most most) {
    return TrainedLink{{5, now}, {5, most}, {}, false}.narrow();
  };
  EXPECT_TRUE(narrow(8, 16));
  EXPECT_FALSE(narrow(16, 16));
  EXPECT_FALSE(narrow({}, 16));
  EXPECT_FALSE(narrow(8, {}));
  const auto slow = [](Most now, Most most, Most target) {
    return TrainedLink{{now, 16}, {most, 16}, target, true}.slow();
  };
  EXPECT_TRUE(slow(3, 4, {}));
  EXPECT_TRUE(slow(3, {}, 4));
  EXPECT_TRUE(slow(3, 5, 4));
  EXPECT_FALSE(slow(4, 4, {}));
  EXPECT_FALSE(slow(4, 5, 4));
  EXPECT_FALSE(slow(4, {}, {}));
  EXPECT_FALSE(slow({}, 4, 4));
  TrainedLink asleep{{3, 8}, {4, 16}, {}, true};
  EXPECT_TRUE(asleep.slow() && asleep.narrow());
  asleep.now.generation.reset();
  asleep.now.width.reset();
  EXPECT_FALSE(asleep.slow() || asleep.narrow());
}

TEST(LinkFacts, CopiesAreHeldToTheSlowestLinkOfTheirWay) {
  const auto slowest = [](PcieLink own, const std::vector<PcieLink>& above) {
    LinkFacts facts;
    facts.now = own;
    for (const PcieLink& link : above) facts.above.push_back({link, {}, {}, false});
    return describe_link(facts.slowest());
  };
  EXPECT_EQ(slowest({4, 16}, {}), "PCIe 4.0 x16");
  EXPECT_EQ(slowest({4, 16}, {{5, 16}}), "PCIe 4.0 x16");
  EXPECT_EQ(slowest({4, 16}, {{4, 8}}), "PCIe 4.0 x8");
  EXPECT_EQ(slowest({4, 16}, {{3, 8}, {4, 8}}), "PCIe 3.0 x8");
  EXPECT_EQ(slowest({4, 16}, {{}}), "PCIe 4.0 x16");
  EXPECT_EQ(slowest({}, {{3, 8}}), "PCIe of unknown generation");
}

// A GPU below a switch whose own link to the processor is the slower one.
TEST(LinkFacts, LinksAboveAreThoseBetweenPortsAndSwitches) {
  auto host = scripted(R"("files":{
    "/sys/devices/pci0000:16/0000:16:01.0/vendor":"0x8086",
    "/sys/devices/pci0000:16/0000:16:01.0/max_link_speed":"32.0 GT/s PCIe",
    "/sys/devices/pci0000:16/0000:16:01.0/max_link_width":"16",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/vendor":"0x1000",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/current_link_speed":"8.0 GT/s PCIe",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/current_link_width":"8",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/max_link_speed":"16.0 GT/s PCIe",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/max_link_width":"16",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/vendor":"0x1000",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/max_link_speed":"16.0 GT/s PCIe",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/max_link_width":"16",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/0000:19:00.0/vendor":"0x10de",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/0000:19:00.0/current_link_speed":"16.0 GT/s PCIe",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/0000:19:00.0/current_link_width":"16",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/0000:19:00.0/max_link_speed":"16.0 GT/s PCIe",
    "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/0000:19:00.0/max_link_width":"16"},
    "links":{"/sys/bus/pci/devices/0000:19:00.0":"../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/0000:19:00.0",
      "/sys/bus/pci/devices/0000:18:00.0":"../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0",
      "/sys/bus/pci/devices/0000:17:00.0":"../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0",
      "/sys/bus/pci/devices/0000:16:01.0":"../../../devices/pci0000:16/0000:16:01.0"})");
  const LinkFacts facts = read_link_facts(*host, "0000:19:00.0");
  EXPECT_FALSE(facts.slow() || facts.narrow());
  ASSERT_EQ(facts.above.size(), 1u);
  EXPECT_TRUE(facts.above[0].narrow());
  EXPECT_TRUE(facts.above[0].slow());
  EXPECT_EQ(facts.above[0].most.generation, 4);
  EXPECT_EQ(facts.slowest().width, 8);
}

}  // namespace
}  // namespace gpuready
