#include "health/bandwidth/rules.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace gpuready {
namespace {

// An A100 SXM4 80GB: 5120 bits at 1512 MHz, double data rate, are 1935 GB/s.
DeviceInfo stacked() {
  DeviceInfo device;
  device.memory_bus_bits = 5120;
  device.memory_clock_khz = 1'512'000;
  device.l2_cache_bytes = 40 * MiB;
  return device;
}

struct Judged {
  std::vector<Metric> metrics;
  RateJudgement told;
  std::optional<double> threshold(std::string_view name) const {
    return std::ranges::find(metrics, name, &Metric::name)->threshold;
  }
  bool notes(std::string_view text) const {
    return std::ranges::any_of(told.notes, [&](const auto& note) { return contains(note, text); });
  }
};

Judged judge(const DeviceInfo& device, std::uint64_t host_bytes, std::uint64_t device_bytes,
             double rate, auto&& change) {
  Judged judged;
  for (const char* name : {"h2d_pinned_rate", "d2h_pinned_rate", "dram_copy_rate"})
    judged.metrics.push_back({name, rate, "B/s", {}, {}});
  const std::optional<LinkFacts> link;
  RateFacts facts{
      .device = device, .link = link, .host_bytes = host_bytes, .device_bytes = device_bytes};
  facts.most = {4, 16};
  change(facts);
  judged.told = judge_rates(judged.metrics, facts);
  return judged;
}
Judged judge(const DeviceInfo& device, std::uint64_t host_bytes, std::uint64_t device_bytes,
             double rate = 1e13) {
  return judge(device, host_bytes, device_bytes, rate, [](RateFacts&) {});
}

// docs/bandwidth-test.md.
TEST(BandwidthRules, MemoryIsHeldToAPartOfItsClockTimesItsWidth) {
  for (const auto& [bits, part] :
       {std::pair(5120u, 0.80), {2048u, 0.80}, {2047u, 0.60}, {384u, 0.60}}) {
    auto device = stacked();
    device.memory_bus_bits = bits;
    const double least = part * bits / 8 * 2 * 1.512e9;
    EXPECT_DOUBLE_EQ(judge(device, GiB, GiB).threshold("dram_copy_rate").value(), least) << bits;
    EXPECT_EQ(judge(device, GiB, GiB, least * 1.001).told.below.size(), 0u) << bits;
    const auto below = judge(device, GiB, GiB, least * 0.999).told.below;
    EXPECT_TRUE(below.size() == 1 && below[0].starts_with("dram_copy_rate is ")) << bits;
  }
}

TEST(BandwidthRules, MemoryIsJudgedByBuffersOfFourTimesTheCacheAndOf16MiB) {
  for (const auto& [cache_mib, bytes, judged] : {std::tuple(40, 160 * MiB, true),
                                                 {40, 160 * MiB - 1, false},
                                                 {2, 16 * MiB, true},
                                                 {2, 16 * MiB - 1, false},
                                                 {0, 16 * MiB, true},
                                                 {0, 16 * MiB - 1, false}}) {
    auto device = stacked();
    device.l2_cache_bytes.reset();
    if (cache_mib > 0) device.l2_cache_bytes = static_cast<std::uint64_t>(cache_mib) * MiB;
    const auto result = judge(device, GiB, bytes);
    EXPECT_EQ(result.threshold("dram_copy_rate").has_value(), judged) << cache_mib << " " << bytes;
    EXPECT_EQ(result.notes("the caches hold what was copied"), !judged) << cache_mib;
  }
  auto unknown = stacked();
  unknown.memory_clock_khz.reset();
  EXPECT_TRUE(judge(unknown, GiB, GiB).notes("does not report bus width and memory clock"));
  unknown = stacked();
  unknown.memory_bus_bits.reset();
  EXPECT_TRUE(judge(unknown, GiB, GiB).notes("does not report bus width and memory clock"));
}

TEST(BandwidthRules, PinnedCopiesAreHeldToThreeQuartersOfTheLink) {
  constexpr double kGeneration4x16 = 16e9 / 8 * 128 / 130 * 16;
  for (const auto& [bytes, judged] : {std::pair(16 * MiB, true), {16 * MiB - 1, false}}) {
    const auto result = judge(stacked(), bytes, GiB);
    EXPECT_EQ(result.notes("too little was copied at once"), !judged) << bytes;
    for (const char* name : {"h2d_pinned_rate", "d2h_pinned_rate"}) {
      ASSERT_EQ(result.threshold(name).has_value(), judged) << bytes;
      if (judged) {
        EXPECT_DOUBLE_EQ(*result.threshold(name), 0.75 * kGeneration4x16);
      }
    }
  }
  EXPECT_EQ(judge(stacked(), GiB, MiB, 0.75 * kGeneration4x16 * 0.999).told.unclear.size(), 2u)
      << "the port is hidden";
  EXPECT_TRUE(judge(stacked(), GiB, MiB, 0.75 * kGeneration4x16 * 1.001).told.unclear.empty());
}

TEST(BandwidthRules, WhatHasOnlyAShareIsNotJudged) {
  const auto unjudged = [](const DeviceInfo& device, std::string_view why, auto&& change) {
    const auto result = judge(device, GiB, GiB, 1, change);
    EXPECT_TRUE(result.notes(why)) << why;
    EXPECT_FALSE(result.threshold("h2d_pinned_rate")) << why;
    return result.threshold("dram_copy_rate");
  };
  auto integrated = stacked(), slice = stacked();
  integrated.integrated = true;
  slice.uuid = "MIG-1";
  EXPECT_FALSE(
      unjudged(stacked(), "others may use this GPU", [](RateFacts& f) { f.shared = true; }));
  EXPECT_FALSE(unjudged(integrated, "shares the host's memory", [](RateFacts&) {}));
  EXPECT_FALSE(unjudged(slice, "a slice of a GPU", [](RateFacts&) {}));
  EXPECT_TRUE(unjudged(stacked(), "pinned rates are not judged: why",
                       [](RateFacts& f) { f.excuse = "why"; }));
  EXPECT_TRUE(
      unjudged(stacked(), "generation and width are hidden", [](RateFacts& f) { f.most = {}; }));
}

}  // namespace
}  // namespace gpuready
