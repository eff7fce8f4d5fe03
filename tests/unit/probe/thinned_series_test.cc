#include "probe/thinned_series.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gpuready {
namespace {

using Merge = ThinnedSeries::Merge;

TEST(ThinnedSeries, KeepsEverySampleUntilItIsFull) {
  ThinnedSeries series(Merge::mean, 10);
  for (int i = 0; i < 9; ++i) series.add(100 * i, i);
  const auto points = series.points();
  ASSERT_EQ(points.size(), 9u);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(points[static_cast<std::size_t>(i)].t_ms, 100 * i);
    EXPECT_EQ(points[static_cast<std::size_t>(i)].value, i);
  }
}

TEST(ThinnedSeries, NeverHoldsMoreThanAskedForHoweverLongItGoesOn) {
  ThinnedSeries series;
  for (int i = 0; i < 36'000 * 6; ++i) series.add(100.0 * i, i % 7);  // six hours
  EXPECT_LE(series.points().size(), ThinnedSeries::kMostPoints + 1);
  EXPECT_GE(series.points().size(), ThinnedSeries::kMostPoints / 2);
  EXPECT_EQ(series.taken(), 216'000u);
}

TEST(ThinnedSeries, MergedPointsAreMeansSpreadEvenlyOverTheWholeTime) {
  ThinnedSeries series(Merge::mean, 16);
  const int samples = 1000;
  for (int i = 0; i < samples; ++i) series.add(i, 2.0 * i);
  const auto points = series.points();
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_NEAR(points[i].value, 2 * points[i].t_ms, 1e-9) << i;
    if (i == 0 || i + 1 == points.size()) continue;
    EXPECT_NEAR(points[i].t_ms - points[i - 1].t_ms, 64, 1e-9) << i;
  }
  EXPECT_LT(points.front().t_ms, 64);
  EXPECT_GT(points.back().t_ms, samples - 64);
}

TEST(ThinnedSeries, PeakThatWasMergedAwayIsInTheStatistics) {
  ThinnedSeries series(Merge::mean, 8);
  for (int i = 0; i < 1000; ++i) series.add(i, i == 500 ? 1000 : 1);
  for (const auto& point : series.points()) EXPECT_LT(point.value, 100);
  EXPECT_EQ(series.max(), 1000);
  EXPECT_EQ(series.min(), 1);
  EXPECT_NEAR(series.mean(), 1.999, 1e-9);
}

TEST(ThinnedSeries, CounterKeepsItsLastValueInEachPoint) {
  ThinnedSeries series(Merge::last, 4);
  for (int i = 0; i < 100; ++i) series.add(i, i);
  for (const auto& point : series.points()) EXPECT_EQ(point.value, point.t_ms);
  EXPECT_EQ(series.points().back().value, 99);
  EXPECT_EQ(series.last(), 99);
}

TEST(ThinnedSeries, OddNumberOfPointsLosesNone) {
  ThinnedSeries series(Merge::mean, 5);
  double sum = 0;
  for (int i = 0; i < 5; ++i) series.add(i, i + 1), sum += i + 1;
  const auto points = series.points();
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].value, 1.5);
  EXPECT_EQ(points[2].value, 5);
}

}  // namespace
}  // namespace gpuready
