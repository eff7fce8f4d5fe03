// What the suite multiplies: small accumulators survive random numbers, and not these.
#include "ternary/suite/verify_problems.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gpuready::ternary {
namespace {

using Row = std::vector<std::int8_t>;

Problem filled(Fill fill) { return make_problem({.m = 4, .n = 2, .k = 6, .fill = fill}, 1); }
Row row_of(const Problem& problem, std::size_t row) {
  const auto first = problem.y.begin() + static_cast<std::ptrdiff_t>(6 * row);
  return {first, first + 6};
}

TEST(VerifyProblems, RowsOfOneSignAreOfTheGreatestAndOfTheLeast) {
  const auto plus = filled(Fill::all_plus);
  EXPECT_EQ(plus.weights.values, std::vector<std::int8_t>(12, 1));
  for (std::size_t row = 0; row < 4; ++row)
    EXPECT_EQ(row_of(plus, row), Row(6, row % 2 == 0 ? 127 : -128)) << row;
  EXPECT_EQ(plus.sums, (std::vector<std::int64_t>{762, 762, -768, -768, 762, 762, -768, -768}));
  const auto minus = filled(Fill::all_minus);
  EXPECT_EQ(minus.weights.values, std::vector<std::int8_t>(12, -1));
  EXPECT_EQ(minus.y, Row(24, -128));
  EXPECT_EQ(minus.sums, std::vector<std::int64_t>(8, 768));
}

TEST(VerifyProblems, AlternatingProductsHaveOneSign) {
  const auto problem = filled(Fill::alternating);
  for (std::size_t row = 0; row < 4; ++row)
    EXPECT_EQ(row_of(problem, row), (Row{-128, 127, -128, 127, -128, 127})) << row;
  EXPECT_EQ(problem.weights.values, (Row{-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1}));
  EXPECT_EQ(problem.sums, std::vector<std::int64_t>(8, 3 * 128 + 3 * 127));
}

TEST(VerifyProblems, SaturatingActivationsAreOfBothEndsAndRandomOnesOfAll) {
  const auto has = [](const Problem& problem, int value) {
    return std::ranges::count(problem.y, static_cast<std::int8_t>(value)) > 0;
  };
  const auto ends = make_problem({.m = 64, .n = 2, .k = 64, .fill = Fill::saturating}, 1);
  EXPECT_TRUE(has(ends, 127));
  EXPECT_TRUE(has(ends, -128));
  EXPECT_EQ(std::ranges::count(ends.y, 127) + std::ranges::count(ends.y, -128), 64 * 64);
  const auto random = make_problem({.m = 64, .n = 2, .k = 64, .fill = Fill::random}, 1);
  for (const int value : {-128, -1, 0, 1, 127}) EXPECT_TRUE(has(random, value)) << value;
}

}  // namespace
}  // namespace gpuready::ternary
