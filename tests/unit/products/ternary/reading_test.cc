#include "ternary/reading.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <utility>

#include "gpuready/ternary.h"
#include "unit/products/ternary/reference.h"
#include "unit/products/ternary/tier_parameters.h"

namespace gpuready::ternary {
namespace {

constexpr std::size_t kBytes = 4 << 20;
constexpr Read kRead = Read::two_bit;
using Way = std::pair<int, std::size_t>;
Way way(const kernels::Reading& reading) { return {reading.streams, reading.ahead_bytes}; }

// Products until the choice is made, each as long as `ns_of` says.
template <class NsOf>
std::map<Way, int> find_out(ReadingChoice& choice, NsOf ns_of, std::size_t bytes = kBytes) {
  std::map<Way, int> tried;
  for (int call = 0; call < 1000 && !choice.chosen(kRead, bytes); ++call) {
    const auto reading = choice.begin(kRead, bytes);
    ++tried[way(reading)];
    choice.end_after(ns_of(reading, call));
  }
  return tried;
}

TEST(TernaryReading, TheQuickestWayIsKept) {
  ReadingChoice choice;
  const auto tried = find_out(choice, [](const kernels::Reading& reading, int) {
    return way(reading) == Way{1, 4096} ? 900.0 : 1000.0;
  });
  EXPECT_EQ(tried.size(), 5u);
  for (const auto& [each, times] : tried) EXPECT_EQ(times, 5) << each.first << 'x' << each.second;
  ASSERT_TRUE(choice.chosen(kRead, kBytes));
  EXPECT_EQ(way(*choice.chosen(kRead, kBytes)), (Way{1, 4096}));
  EXPECT_EQ(way(choice.begin(kRead, kBytes)), (Way{1, 4096}));
}

TEST(TernaryReading, InterruptedProductsDecideNothing) {
  ReadingChoice choice;
  find_out(choice, [](const kernels::Reading& reading, int call) {
    const double ns = way(reading) == Way{2, 2048} ? 900 : 1000;
    return call % 7 == 0 ? 100 * ns : call % 11 == 0 ? ns / 100 : ns;
  });
  EXPECT_EQ(way(*choice.chosen(kRead, kBytes)), (Way{2, 2048}));
}

TEST(TernaryReading, LayersThatAlternateDecideNothing) {
  // Five layers of one size class in turn, one of which takes three times as long.
  ReadingChoice choice;
  find_out(choice, [](const kernels::Reading& reading, int call) {
    return (way(reading) == Way{1, 2048} ? 900.0 : 1000.0) * (call % 5 == 2 ? 3 : 1);
  });
  EXPECT_EQ(way(*choice.chosen(kRead, kBytes)), (Way{1, 2048}));
}

TEST(TernaryReading, TheDefaultStaysWhereNothingIsClearlyQuicker) {
  ReadingChoice choice;
  find_out(choice, [](const kernels::Reading& reading, int) {
    return way(reading) == Way{4, 2048} ? 1000.0 : 985.0;
  });
  EXPECT_EQ(way(*choice.chosen(kRead, kBytes)), (Way{4, 2048}));
}

TEST(TernaryReading, SizesAreFoundOutByThemselves) {
  ReadingChoice choice;
  find_out(choice, [](const kernels::Reading& reading, int) { return 1000.0 * reading.streams; });
  EXPECT_EQ(choice.chosen(kRead, kBytes)->streams, 1);
  EXPECT_FALSE(choice.chosen(kRead, 4 * kBytes));
  EXPECT_FALSE(choice.chosen(Read::three_trits, kBytes));
  EXPECT_EQ(way(*choice.chosen(kRead, 1000)), (Way{4, 2048}));  // too short to be timed
  EXPECT_EQ(way(choice.begin(kRead, 1000)), (Way{4, 2048}));
}

TEST(TernaryReading, WhatIsSetIsKept) {
  ReadingChoice choice{kernels::Reading{2, 512}};
  EXPECT_EQ(way(choice.begin(kRead, kBytes)), (Way{2, 512}));
  choice.end();
  EXPECT_EQ(way(*choice.chosen(kRead, kBytes)), (Way{2, 512}));
}

TEST(TernaryReading, TheVariableIsRead) {
  EXPECT_FALSE(*reading_of(nullptr));
  EXPECT_FALSE(*reading_of(""));
  EXPECT_EQ(way(**reading_of("1x0")), (Way{1, 0}));
  EXPECT_EQ(way(**reading_of("4x1048576")), (Way{4, 1048576}));
  for (const char* bad : {"3x64", "x", "1x", "1", "1x2x3", "1x1048577", "-1x64", "1x64y"})
    EXPECT_FALSE(reading_of(bad)) << bad;
}

class TernaryReadings : public testing::TestWithParam<Tier> {};

// Seven panels: four, two and one side by side.
TEST_P(TernaryReadings, EveryWayGivesTheSameBits) {
  for (const std::int64_t k : {16, 80, 2560}) {
    const auto p = reference::make(1, 7 * 16 - 3, k, reference::Fill::random, 3);
    const auto y = Activations::from_int8(p.y, 1, k, p.steps);
    ASSERT_TRUE(y);
    for (const char* way : {"1x0", "1x8192", "2x2048", "2x64", "4x0", "4x1048576"}) {
      setenv("GPUREADY_TERNARY_READING", way, 1);
      const auto engine = CpuEngine::create({GetParam(), false, 2});
      unsetenv("GPUREADY_TERNARY_READING");
      ASSERT_TRUE(engine);
      std::vector<std::int32_t> out(p.sums.size());
      for (const Form form : {Form::two_bit, Form::three_trits}) {
        const auto weights = PackedWeights::pack(p.weights, form);
        ASSERT_TRUE(weights);
        ASSERT_TRUE(engine->multiply(*weights, *y, std::span(out)));
        EXPECT_TRUE(std::equal(out.begin(), out.end(), p.sums.begin())) << way << ", K " << k;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(, TernaryReadings, every_tier(), name_of_tier);

TEST(TernaryReading, AWrongVariableIsAnError) {
  setenv("GPUREADY_TERNARY_READING", "5x64", 1);
  const auto engine = CpuEngine::create();
  unsetenv("GPUREADY_TERNARY_READING");
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace gpuready::ternary
