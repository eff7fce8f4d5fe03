#include "fleet/slow/limits.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gpuready::fleet {
namespace {

// The values that divide a normal distribution into equal parts, near enough: sum of 12 uniforms.
std::vector<double> around(double centre, double deviation, int number) {
  std::vector<double> values;
  std::uint32_t seed = 7;
  for (int i = 0; i < number; ++i) {
    double sum = -6;
    for (int j = 0; j < 12; ++j) sum += (seed = seed * 1664525 + 1013904223) / 4294967296.0;
    values.push_back(centre + deviation * sum);
  }
  return values;
}

TEST(Limits, SlowPairsDoNotMoveTheUsualRate) {
  auto rates = around(400, 4, 50);
  for (const double slow : around(200, 4, 14)) rates.push_back(slow);
  EXPECT_NEAR(usual_rate(rates, true), 400, 2);
  // Five of eight groups are fine, and so are only 10 of 28 pairs.
  auto few = around(400, 3, 10);
  for (const double slow : around(360, 3, 18)) few.push_back(slow);
  EXPECT_NEAR(usual_rate(few, false, 0.06), 400, 4);
  EXPECT_NEAR(usual_rate({360, 361, 400, 359}, false, 0.06), 400, 0.1);
  EXPECT_EQ(usual_rate({}, true), 0);
}

TEST(Limits, NoiseIsLearnedFromRepeats) {
  const auto shares = around(1, 0.02, 400);
  std::vector<std::pair<double, double>> repeats;
  for (std::size_t i = 0; i + 1 < 200; i += 2) repeats.emplace_back(shares[i], shares[i + 1]);
  const auto limits = learn_limits(shares, repeats, false);
  EXPECT_NEAR(limits.noise, 0.02, 0.002);
  EXPECT_NEAR(limits.drop, 0.05, 0.006);  // 2.5 deviations
  EXPECT_EQ(learn_limits(shares, repeats, false, 0.2).drop, 0.1);
}

TEST(Limits, OfFewNodesTheFastestPairsAndTheRepeatsShowTheNoise) {
  auto shares = around(1, 0.02, 20);
  std::vector<std::pair<double, double>> repeats;
  for (std::size_t i = 0; i < 20; i += 2) repeats.emplace_back(shares[i], shares[i + 1]);
  for (const double slow : around(0.9, 0.018, 40)) shares.push_back(slow);
  const auto limits = learn_limits(shares, repeats, true);
  EXPECT_LT(limits.noise, 0.04);
  EXPECT_NEAR(limits.drop, 2 * limits.noise, 1e-12);
}

TEST(Limits, NodesThatDifferByThemselvesAreNotSlow) {
  // The same pair gives the same rate again: what differs are the nodes.
  const auto shares = around(1, 0.02, 400);
  std::vector<std::pair<double, double>> repeats;
  for (int i = 0; i < 100; ++i)
    repeats.emplace_back(shares[i], shares[i] * (i % 2 ? 1.003 : 0.997));
  const auto limits = learn_limits(shares, repeats, false);
  EXPECT_NEAR(limits.drop, 0.08, 0.01);  // 4 deviations
  EXPECT_EQ(limits.noise, 0.005);        // no program repeats its rate better
}

TEST(Limits, AQuietFleetHasALimitOfThreePercent) {
  const auto limits = learn_limits(around(1, 0.001, 100), {}, false);
  EXPECT_EQ(limits.drop, 0.03);
  EXPECT_EQ(limits.noise, limits.spread);
}

// Else a limit below zero accepts every node.
TEST(Limits, AWideLimitIsNotTrusted) {
  const auto limits = learn_limits(around(1, 0.5, 100), {}, false);
  EXPECT_TRUE(limits.wide);
  EXPECT_EQ(limits.drop, 0.5);
  EXPECT_TRUE(learn_limits(around(1, 0.07, 100), {}, false).wide);
  EXPECT_FALSE(learn_limits(around(1, 0.04, 100), {}, false).wide);
  EXPECT_FALSE(learn_limits(around(1, 0.5, 100), {}, false, 0.2).wide);  // the user's own
}

TEST(Limits, EvidenceIsZeroAtTheLimitAndBounded) {
  const RateLimits limits{.noise = 0.02, .spread = 0.02, .drop = 0.05};
  EXPECT_NEAR(evidence_of(0.95, limits, 0.02), 0, 1e-9);
  // log(p(0.93 | mean 0.90) / p(0.93 | mean 1)) = ((0.07)^2 - (0.03)^2) / (2 * 0.02^2) = 5
  EXPECT_NEAR(evidence_of(0.93, limits, 0.02), 5, 1e-9);
  EXPECT_NEAR(evidence_of(0.97, limits, 0.02), -5, 1e-9);
  EXPECT_EQ(evidence_of(0.2, limits, 0.02), 8);
  EXPECT_EQ(evidence_of(1.5, limits, 0.02), -8);
}

}  // namespace
}  // namespace gpuready::fleet
