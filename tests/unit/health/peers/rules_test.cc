#include "health/peers/rules.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuready {
namespace {

// As 18 links of H200s gave them, each time `share` of it.
std::vector<Metric> measured(double share) {
  std::vector<Metric> metrics;
  for (const char* name : {"peer_write_rate", "peer_read_rate", "peer_kernel_write_rate",
                           "peer_read_rate_back", "peer_write_rate_back"})
    metrics.push_back({name, 394e9 * share, "B/s", {}, {}});
  return metrics;
}

TEST(PeerRates, WhatTheLinksCarryPasses) {
  auto metrics = measured(1);
  EXPECT_TRUE(judge_peer_rates(metrics, {90, 18}).empty());
  EXPECT_DOUBLE_EQ(*metrics[0].threshold, 0.7 * 18 * 25e9);
  EXPECT_EQ(*metrics[0].threshold_source, "0.7 of the 450 GB/s that 18 NVLinks of 25 GB/s carry");
  EXPECT_FALSE(metrics[2].threshold) << "one of each direction";
}

TEST(PeerRates, HalfOfTheLanesFail) {
  auto metrics = measured(0.5);
  const auto below = judge_peer_rates(metrics, {90, 18});
  ASSERT_EQ(below.size(), 2u);
  EXPECT_TRUE(contains(below[0], "from the first GPU to the second at most 197 GB/s arrive"))
      << below[0];
}

TEST(PeerRates, OneDirectionAloneIsToldApart) {
  auto metrics = measured(1);
  for (Metric& metric : metrics)
    if (metric.name == "peer_read_rate" || metric.name == "peer_write_rate_back") metric.value /= 3;
  const auto below = judge_peer_rates(metrics, {90, 18});
  ASSERT_EQ(below.size(), 1u);
  EXPECT_TRUE(contains(below[0], "from the second GPU to the first")) << below[0];
}

// NVIDIA's whitepapers: what an NVLink of each chip carries one way.
TEST(PeerRates, EachChipIsHeldToItsOwnLinks) {
  for (const auto& [capability, link_bytes_per_s] :
       {std::pair(60, 20e9), {70, 25e9}, {80, 25e9}, {90, 25e9}, {100, 50e9}, {103, 50e9}}) {
    auto metrics = measured(1);
    judge_peer_rates(metrics, {capability, 4});
    ASSERT_TRUE(metrics[0].threshold) << capability;
    EXPECT_DOUBLE_EQ(*metrics[0].threshold, 0.7 * 4 * link_bytes_per_s) << capability;
  }
}

TEST(PeerRates, WhatIsNotKnownIsNotJudged) {
  auto metrics = measured(0.1);
  for (const std::optional<int> links : {std::optional<int>(), {0}})
    EXPECT_TRUE(judge_peer_rates(metrics, {90, links}).empty());
  for (const int capability : {0, 61, 72, 75, 86, 89, 101, 120, 121})
    EXPECT_TRUE(judge_peer_rates(metrics, {capability, 4}).empty()) << capability;
  for (const Metric& metric : metrics) EXPECT_FALSE(metric.threshold) << metric.name;
}

}  // namespace
}  // namespace gpuready
