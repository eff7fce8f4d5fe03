#include "base/statistics.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

// Values computed with R's prop.test(correct = FALSE), which is Wilson's interval.
TEST(WilsonInterval, AgreesWithKnownValues) {
  const auto [low, high] = wilson_interval(8, 10);
  EXPECT_NEAR(low, 0.4901625, 1e-6);
  EXPECT_NEAR(high, 0.9433178, 1e-6);
}

TEST(WilsonInterval, AllOrNoneStillLeavesDoubt) {
  EXPECT_NEAR(wilson_interval(1000, 1000).first, 0.9961733, 1e-6);
  EXPECT_EQ(wilson_interval(1000, 1000).second, 1);
  EXPECT_EQ(wilson_interval(0, 1000).first, 0);
  EXPECT_NEAR(wilson_interval(0, 1000).second, 1 - 0.9961733, 1e-6);
  EXPECT_EQ(wilson_interval(0, 0), (std::pair<double, double>(0, 1)));
}

TEST(Median, OfOddEvenAndNone) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({9, 1, 5, 4}), 4.5);
  EXPECT_EQ(lower_median({}), 0);
  EXPECT_EQ(lower_median({9, 1, 5}), 5);
  EXPECT_EQ(lower_median({9, 1, 5, 4}), 4);
  EXPECT_EQ(lower_median({100, 1}), 1);
}

}  // namespace
}  // namespace gpuready
