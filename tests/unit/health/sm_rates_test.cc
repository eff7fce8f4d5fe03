#include "health/sm_rates.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuready {
namespace {

TEST(SmRates, AreThoseOfTheArchitecture) {
  const auto hopper = fma_rate_rule(90);
  ASSERT_TRUE(hopper);
  EXPECT_EQ(hopper->most, 128);
  EXPECT_EQ(hopper->least(), 96);
  EXPECT_TRUE(contains(hopper->source, "0.75 of the 128 of compute capability 9.0"))
      << hopper->source;
  EXPECT_EQ(fma_rate_rule(80)->most, 64);
  EXPECT_EQ(fma_rate_rule(61)->most, 128);
  EXPECT_EQ(tensor_rate_rule(90)->most, 4096);
}

TEST(SmRates, WhatIsNotKnownIsNotJudged) {
  EXPECT_FALSE(fma_rate_rule(0));
  EXPECT_FALSE(fma_rate_rule(999));
  EXPECT_FALSE(tensor_rate_rule(75));
  EXPECT_FALSE(tensor_rate_rule(100));
}

}  // namespace
}  // namespace gpuready
