#include "fleet/slow/failing.h"

#include <gtest/gtest.h>

namespace gpuready::fleet {
namespace {

using Rounds = std::vector<std::vector<PairRate>>;
using Nodes = std::vector<std::uint32_t>;

constexpr std::optional<double> kRate = 100, kNone = std::nullopt;

PairRate pair(std::uint32_t a, std::uint32_t b, std::optional<double> rate, bool wrong = false) {
  return {.a = a, .b = b, .rate = rate, .wrong_values = wrong};
}
// All pairs of `nodes`, which answer.
Rounds answers_of(std::uint32_t nodes) {
  Rounds rounds(1);
  for (std::uint32_t a = 0; a < nodes; ++a)
    for (std::uint32_t b = a + 1; b < nodes; ++b) rounds[0].push_back(pair(a, b, kRate));
  return rounds;
}
Failing find(const Rounds& rounds, std::uint32_t nodes, const Nodes& silent = {}) {
  std::vector<bool> is_silent(nodes);
  for (const auto node : silent) is_silent[node] = true;
  return find_failing(rounds, is_silent, std::vector<bool>(rounds.size()));
}

TEST(Failing, APairThatNeverAnswersIsALinkAndIsMeasuredThreeTimes) {
  Rounds rounds = answers_of(9);
  std::erase_if(rounds[0], [](const PairRate& one) { return one.a == 2 && one.b == 5; });
  for (unsigned times = 1; times <= 3; ++times) {
    rounds.push_back({pair(5, 2, kNone)});
    const Failing found = find(rounds, 9);
    ASSERT_EQ(found.parts.size(), 1u);
    EXPECT_EQ(found.parts[0].node, 2u);
    EXPECT_EQ(found.parts[0].other, 5u);
    EXPECT_EQ(found.parts[0].failed, times);
    EXPECT_EQ(found.parts[0].measurements, times);
    EXPECT_EQ(found.pairs_again.size(), times < 3 ? 1u : 0u);
    EXPECT_EQ(found.nodes_again, std::vector<bool>(9));  // both answered seven others
  }
}

TEST(Failing, AFailureIsForgivenAfterSixAnswers) {
  Rounds rounds = {{pair(0, 1, kNone)}, {pair(0, 1, kRate)}};
  for (std::uint32_t other = 2; other < 7; ++other) {
    const Failing found = find(rounds, 9);
    EXPECT_TRUE(found.parts.empty());
    EXPECT_TRUE(found.nodes_again[0]) << other;
    EXPECT_TRUE(found.nodes_again[1]) << other;
    rounds.push_back({pair(0, other, kRate)});
  }
  EXPECT_FALSE(find(rounds, 9).nodes_again[0]);
  EXPECT_TRUE(find(rounds, 9).nodes_again[1]);
}

TEST(Failing, ANodeThatFailsWithSeveralIsBlamedForThem) {
  Rounds rounds = answers_of(9);
  for (const std::uint32_t other : {1u, 4u, 7u}) rounds.push_back({pair(3, other, kNone)});
  const Failing found = find(rounds, 9);
  ASSERT_EQ(found.parts.size(), 1u);
  EXPECT_EQ(found.parts[0].node, 3u);
  EXPECT_FALSE(found.parts[0].other);
  EXPECT_EQ(found.parts[0].partners, (Nodes{1, 4, 7}));
  EXPECT_EQ(found.parts[0].measurements, 11u);
  EXPECT_TRUE(found.nodes_again[3]);
  EXPECT_FALSE(found.nodes_again[1]);
  rounds.push_back({pair(3, 8, kRate)});  // twelve are enough
  EXPECT_FALSE(find(rounds, 9).nodes_again[3]);
}

TEST(Failing, NoNodeIsBlamedForASilentPartnerOrALostRound) {
  Rounds rounds = answers_of(4);
  for (const std::uint32_t other : {0u, 1u}) rounds.push_back({pair(other, 4, kNone)});
  EXPECT_TRUE(find(rounds, 5, {4}).parts.empty());
  EXPECT_FALSE(find(rounds, 5).parts.empty());
  EXPECT_TRUE(find_failing(rounds, std::vector<bool>(5), {false, true, true}).parts.empty());
}

TEST(Failing, WrongValuesAreNeverForgiven) {
  Rounds rounds = answers_of(20);
  rounds.push_back({pair(3, 8, kNone, true)});
  ASSERT_EQ(find(rounds, 20).parts.size(), 1u);
  EXPECT_EQ(find(rounds, 20).parts[0].other, 8u);
  EXPECT_EQ(find(rounds, 20).parts[0].wrong, 1u);
  rounds.push_back({pair(3, 9, kNone, true)});
  const Failing found = find(rounds, 20, {3});
  ASSERT_EQ(found.parts.size(), 1u);
  EXPECT_EQ(found.parts[0].node, 3u);
  EXPECT_EQ(found.parts[0].partners, (Nodes{8, 9}));
  EXPECT_EQ(found.parts[0].wrong, 2u);
}

}  // namespace
}  // namespace gpuready::fleet
