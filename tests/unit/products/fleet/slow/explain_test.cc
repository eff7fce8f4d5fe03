#include "fleet/slow/explain.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gpuready::fleet {
namespace {

const double kPrior = std::log(64);

TEST(Explain, OnePairDoesNotTellWhichOfTwoIsSlow) {
  const auto found = explain(64, {{{1, 2}, 8}});
  // With 1: 8 - prior; without it the same, by 2.
  EXPECT_NEAR(found.log_odds[1], 0, 1e-9);
  EXPECT_NEAR(found.log_odds[2], 0, 1e-9);
  EXPECT_NEAR(found.log_odds[3], -kPrior, 1e-9);
}

TEST(Explain, ASecondPartnerTells) {
  const auto found = explain(64, {{{1, 2}, 8}, {{1, 3}, 8}, {{2, 4}, -8}, {{3, 5}, -8}});
  EXPECT_TRUE(found.slow[1]);
  EXPECT_NEAR(found.log_odds[1], 16 - kPrior, 1e-9);  // without 1, no other explains anything
  EXPECT_FALSE(found.slow[2]);
  // With 2: its fast pair speaks against it, and its slow one is explained by 1.
  EXPECT_NEAR(found.log_odds[2], -8 - kPrior, 1e-9);
  EXPECT_NEAR(found.log_odds[4], -8 - kPrior, 1e-9);
}

TEST(Explain, PartnersOfASlowItemAreNotSuspectForIt) {
  std::vector<PairEvidence> pairs;
  for (std::uint32_t other = 1; other < 10; ++other) pairs.push_back({{0, other}, 8});
  const auto found = explain(64, pairs);
  EXPECT_TRUE(found.slow[0]);
  for (std::uint32_t other = 1; other < 10; ++other)
    EXPECT_NEAR(found.log_odds[other], -kPrior, 1e-9);
}

TEST(Explain, TwoSlowItemsAreTwo) {
  const auto found =
      explain(64, {{{0, 1}, 8}, {{0, 2}, 8}, {{1, 3}, 8}, {{2, 4}, -8}, {{3, 5}, -8}});
  EXPECT_TRUE(found.slow[0]);
  EXPECT_TRUE(found.slow[1]);
  EXPECT_FALSE(found.slow[2]);
  EXPECT_FALSE(found.slow[3]);
}

TEST(Explain, ALinkThatIsSlowAgainAndAgainBlamesNoItem) {
  // However often: more than a slow link explains counts for no item.
  const auto found = explain(64, {{{1, 2}, 80}, {{1, 3}, -8}, {{2, 4}, -8}});
  EXPECT_FALSE(found.slow[1]);
  EXPECT_FALSE(found.slow[2]);
  EXPECT_LT(found.log_odds[1], 0);
}

}  // namespace
}  // namespace gpuready::fleet
