#include "fleet/slow/search.h"

#include <gtest/gtest.h>

#include <set>

#include "fleet/slow/findings.h"
#include "unit/products/fleet/slow/simulated_fabric.h"

namespace gpuready::fleet {
namespace {

using test::Fabric;
using test::run_search;
using test::slow_of;
using Parts = std::vector<std::uint32_t>;

TEST(Search, NoNodeIsInTwoPairsOfARound) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Fabric fabric(60, 6, seed);
    fabric.node[7] = 0.9;
    fabric.uplink[3] = 0.9;
    fabric.fails = 0.05;
    for (const auto& round : run_search(fabric, seed).rounds) {
      std::set<std::uint32_t> used;
      for (const PairRate& pair : round) {
        EXPECT_TRUE(used.insert(pair.a).second);
        EXPECT_TRUE(used.insert(pair.b).second);
      }
    }
  }
}

TEST(Search, TheFirstRoundMeasuresEachNodeWithinItsGroup) {
  Fabric fabric(64, 8, 1);
  const SlowSearch search{.map = fabric.map, .options = {}, .rounds = {}};
  const auto pairs = next_round(search);
  EXPECT_EQ(pairs.size(), 32u);
  for (const auto& [a, b] : pairs) EXPECT_EQ(a / 8, b / 8);
}

TEST(Search, AllFollowsFromTheRoundsSoFar) {
  Fabric fabric(64, 8, 5);
  fabric.node[9] = 0.9;
  const SlowSearch whole = run_search(fabric, 3);
  ASSERT_GE(whole.rounds.size(), 3u);
  for (std::size_t number = 0; number < whole.rounds.size(); ++number) {
    SlowSearch part = whole;
    part.rounds.resize(number);
    const auto pairs = next_round(part);
    ASSERT_EQ(pairs.size(), whole.rounds[number].size());
    for (std::size_t i = 0; i < pairs.size(); ++i)
      EXPECT_EQ(pairs[i], IndexPair(whole.rounds[number][i].a, whole.rounds[number][i].b));
  }
  EXPECT_TRUE(next_round(whole).empty());
}

// How often, and after how many rounds, is measured by bench_slow_nodes; these are the same, few.
TEST(Search, NamesSlowNodesAndNoOthers) {
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Fabric fabric(64, 8, seed);
    const auto slow = fabric.some(1 + seed % 3, 64);
    for (const auto node : slow) fabric.node[node] = 0.9;
    const auto state = judge(run_search(fabric, seed));
    wrong += slow_of(state.nodes.parts) != slow || !slow_of(state.groups.parts).empty();
    for (const auto node : slow) EXPECT_NEAR(state.nodes.parts[node].share, 0.9, 0.05);
  }
  EXPECT_LE(wrong, 1);
}

// A small fleet with a slow node has few pairs without one.
TEST(Search, NamesSlowNodesOfFew) {
  for (const auto& [nodes, slow] :
       {std::pair{3u, 1u}, {4u, 1u}, {5u, 2u}, {7u, 3u}, {8u, 2u}, {12u, 3u}, {24u, 3u}}) {
    int named = 0, others = 0, none = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      Fabric fabric(nodes, 0, seed);
      fabric.noise = 0.01;
      for (const bool is_slow : {false, true}) {
        const auto truth = is_slow ? fabric.some(slow, nodes) : Parts{};
        for (const auto node : truth) fabric.node[node] = 0.9;
        const auto found = slow_of(judge(run_search(fabric, seed)).nodes.parts);
        (is_slow ? named : none) += found == truth;
        others += !std::ranges::includes(truth, found);
      }
    }
    EXPECT_GE(named, 48) << nodes;
    EXPECT_EQ(none, 50) << nodes;
    EXPECT_EQ(others, 0) << nodes;
  }
}

TEST(Search, MeasuresEveryPairOfTenNodes) {
  for (const std::uint32_t nodes : {3u, 5u, 10u}) {
    Fabric fabric(nodes, 0, 1);
    std::set<IndexPair> pairs;
    for (const auto& round : run_search(fabric, 1).rounds)
      for (const PairRate& pair : round) pairs.insert(ordered(pair.a, pair.b));
    EXPECT_EQ(pairs.size(), nodes * (nodes - 1) / 2);
  }
}

TEST(Search, NamesSlowGroupsWhateverTheSpineIsLike) {
  for (const auto& [uplinks, spine] : {std::pair{1.0, 1.0}, {0.5, 1.0}, {1.0, 0.5}}) {
    int wrong = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      Fabric fabric(64, 8, seed);
      fabric.uplinks = uplinks;
      fabric.spine = spine;
      const auto slow = fabric.some(1 + seed % 3, 8);
      for (const auto group : slow) fabric.uplink[group] = 0.9;
      const auto state = judge(run_search(fabric, seed));
      wrong += slow_of(state.groups.parts) != slow || !slow_of(state.nodes.parts).empty();
      if (uplinks + spine < 2) {
        EXPECT_NEAR(state.across_share.value_or(1), 0.5, 0.06);
      }
    }
    EXPECT_LE(wrong, 1) << uplinks << " " << spine;
  }
}

TEST(Search, ASuspectGetsNewPartners) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Fabric fabric(64, 8, seed);
    fabric.node[30] = 0.8;
    std::set<std::uint32_t> partners;
    SlowSearch search = run_search(fabric, seed);
    search.rounds.resize(3);
    for (const auto& round : search.rounds)
      for (const PairRate& pair : round)
        if (pair.a == 30 || pair.b == 30) {
          EXPECT_TRUE(partners.insert(pair.a ^ pair.b ^ 30).second) << seed;
        }
  }
}

TEST(Search, TheShareIsNotThatOfASlowerPartner) {
  Fabric fabric(64, 8, 1);
  fabric.noise = 0.005;
  SlowSearch search{.map = fabric.map, .options = {}, .rounds = {}};
  const auto [slow, slower] = next_round(search).front();
  fabric.node[slow] = 0.9;
  fabric.node[slower] = 0.5;
  for (int round = 0; round < 2; ++round)
    search.rounds.push_back(fabric.measure(next_round(search)));
  const auto state = judge(search);
  EXPECT_NEAR(state.nodes.parts[slow].share, 0.9, 0.02);
  EXPECT_NEAR(state.nodes.parts[slower].share, 0.5, 0.02);
}

// Their partners are missing from the pairs across groups, so rounds load the uplinks differently.
TEST(Search, SlowNodesMakeNoGroupSlow) {
  for (const auto& [uplinks, slow] : {std::pair{0.5, Parts{46, 47}}, {0.75, Parts{46}}})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Fabric fabric(232, 8, seed);
      fabric.uplinks = uplinks;
      for (const auto node : slow) fabric.node[node] = 0.9;
      const auto state = judge(run_search(fabric, seed));
      EXPECT_EQ(slow_of(state.nodes.parts), slow);
      EXPECT_EQ(slow_of(state.groups.parts), Parts{}) << uplinks << " " << seed;
    }
}

TEST(Search, ASlowLinkIsToldFromItsNodes) {
  int named = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Fabric fabric(64, 8, seed);
    SlowSearch first{.map = fabric.map, .options = {.seed = seed}, .rounds = {}};
    const IndexPair link = next_round(first).front();  // others may never be measured
    fabric.link[link] = 0.85;
    const auto state = judge(run_search(fabric, seed));
    EXPECT_TRUE(slow_of(state.nodes.parts).empty());
    for (const LinkState& found : state.links)
      if (found.standing == Standing::slow) {
        EXPECT_EQ(found.pair, link);
        EXPECT_NEAR(found.share, 0.85, 0.05);
        ++named;
      }
  }
  EXPECT_GE(named, 19);
}

TEST(Search, WhatLeavesOrDiesCostsRoundsAndNotTheSearch) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Fabric fabric(64, 8, seed);
    fabric.node[20] = 0.9;
    fabric.leave(3, 0);   // never answers
    fabric.leave(40, 2);  // answers twice
    fabric.dies = 1;      // no pair of the second round answers
    fabric.fails = 0.01;
    const SlowSearch search = run_search(fabric, seed);
    const SlowFindings findings = findings_of(search);
    ASSERT_EQ(findings.slow.size(), 1u);
    EXPECT_EQ(findings.slow[0].name, "n20");
    EXPECT_EQ(findings.unknown, std::vector<std::string>{"n3"});
    for (const auto& name : findings.left) EXPECT_EQ(name, "n40");
    EXPECT_EQ(findings.ended, SearchEnd::settled);
    EXPECT_LE(findings.rounds, 14u);
  }
}

// The group that it was measured with gets another partner, so only one group does not answer.
TEST(Search, AnUplinkThatIsDownCostsOnlyItsOwnNodes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Fabric fabric(16, 4, seed);
    const std::size_t down = seed % 4;
    fabric.uplink[down] = 0;
    std::vector<std::string> its_nodes;
    for (std::size_t i = 4 * down; i < 4 * down + 4; ++i)
      its_nodes.push_back("n" + std::to_string(i));
    const SlowFindings findings = findings_of(run_search(fabric, seed));
    EXPECT_EQ(findings.left, its_nodes) << seed;
    EXPECT_TRUE(findings.slow.empty() && findings.failing.empty()) << seed;
    ASSERT_EQ(findings.notes.size(), 1u) << seed;
    EXPECT_TRUE(
        findings.notes[0].starts_with("Pairs within " + fabric.map.groups[down] + " answered"))
        << findings.notes[0];
  }
}

TEST(Search, ItEndsWhenNothingAnswers) {
  Fabric fabric(16, 0, 1);
  fabric.fails = 1;
  const SlowFindings findings = findings_of(run_search(fabric, 1));
  EXPECT_EQ(findings.rounds, 3u);
  EXPECT_EQ(findings.ended, SearchEnd::no_answers);
  EXPECT_EQ(findings.unknown.size(), 16u);
  EXPECT_TRUE(findings.slow.empty());
}

TEST(Search, AnInterruptedSearchIsNotSettled) {
  Fabric fabric(64, 8, 1);
  SlowSearch search{.map = fabric.map, .options = {}, .rounds = {}};
  EXPECT_EQ(findings_of(search).unknown.size(), 64u);
  search.rounds.push_back(fabric.measure(next_round(search)));
  EXPECT_EQ(findings_of(search).ended, SearchEnd::interrupted);
  search.options.most_rounds = 1;
  EXPECT_EQ(findings_of(search).ended, SearchEnd::most_rounds);
}

TEST(Search, WithoutATopologyASharedSpineIsTold) {
  Fabric fabric(64, 8, 1);
  fabric.spine = 0.5;
  fabric.map = map_of(fabric.map.nodes, {});
  const SlowFindings findings = findings_of(run_search(fabric, 1));
  EXPECT_TRUE(findings.slow.empty());
  EXPECT_EQ(findings.ended, SearchEnd::too_varied);
  ASSERT_EQ(findings.notes.size(), 1u);
  EXPECT_NE(findings.notes[0].find("--topology"), std::string::npos);
}

// Nodes that differ by 1% of themselves, as real ones do, and a fleet of a few nodes.
TEST(Search, NodesThatDifferALittleAreNotSlow) {
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Fabric fabric(256, 16, seed);
    fabric.noise = 0.005;
    for (double& speed : fabric.node) speed = 1 + 0.01 * fabric.normal();
    fabric.node[100] = 0.85;
    const Judgement state = judge(run_search(fabric, seed));
    EXPECT_EQ(state.nodes.parts[100].standing, Standing::slow);
    for (const auto node : slow_of(state.nodes.parts))  // those at the limit are what they are
      wrong += fabric.node[node] > 1 - state.drop;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Search, OfFourNodesTheSlowOneIsNamed) {
  int right = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Fabric fabric(4, 0, seed);
    fabric.noise = 0.01;
    fabric.node[2] = 0.8;
    right += slow_of(judge(run_search(fabric, seed)).nodes.parts) == Parts{2};
  }
  EXPECT_GE(right, 38);
}

// `rate` of two nodes in a round, which counts from 1.
SlowFindings findings_with(std::uint32_t nodes, const auto& rate, std::uint32_t leaf = 0) {
  SlowSearch search{.map = Fabric(nodes, leaf, 1).map, .options = {}, .rounds = {}};
  for (auto pairs = next_round(search); !pairs.empty(); pairs = next_round(search)) {
    std::vector<PairRate> round;
    for (const auto& [a, b] : pairs) round.push_back({a, b, rate(search.rounds.size() + 1, a, b)});
    search.rounds.push_back(std::move(round));
  }
  return findings_of(search);
}
std::optional<double> rate_if(bool answers) {
  return answers ? std::optional(100.0) : std::nullopt;
}

TEST(Search, NamesManySlowNodes) {
  for (const std::uint32_t nodes : {32u, 64u, 256u})
    for (const std::uint32_t slow : {nodes / 4, nodes / 3, nodes / 2})
      for (const double share : {0.5, 0.9}) {
        Fabric fabric(nodes, 0, nodes + slow);
        fabric.noise = 0.01;
        const auto truth = fabric.some(slow, nodes);
        for (const auto node : truth) fabric.node[node] = share;
        const auto state = judge(run_search(fabric, 1));
        EXPECT_EQ(slow_of(state.nodes.parts), truth) << slow << " of " << nodes << " at " << share;
      }
}

TEST(Search, RatesThatVaryTooMuchDecideNothing) {
  for (const std::uint32_t nodes : {8u, 16u, 64u})
    for (const double low : {0.05, 0.5}) {
      Fabric fabric(nodes, 0, nodes);
      const auto found = findings_with(nodes, [&](auto, auto, auto) -> std::optional<double> {
        return low + (1 - low) * fabric.uniform();
      });
      EXPECT_NE(found.ended, SearchEnd::settled) << nodes << " " << low;
      EXPECT_TRUE(found.slow.empty()) << nodes;
      EXPECT_GE(found.limit_share.value_or(0), 0.5);
    }
}

// Two halves are slow with each other.
TEST(Search, RatesThatDifferByPairsBlameNoNode) {
  for (const std::uint32_t nodes : {8u, 16u, 24u, 64u}) {
    const auto found = findings_with(nodes, [&](auto, auto a, auto b) -> std::optional<double> {
      return (a < nodes / 2) == (b < nodes / 2) ? 100 : 3;
    });
    EXPECT_NE(found.ended, SearchEnd::settled) << nodes;
    EXPECT_TRUE(found.slow.empty()) << nodes;
    ASSERT_FALSE(found.notes.empty()) << nodes;
    EXPECT_NE(found.notes[0].find("--topology"), std::string::npos);
  }
}

TEST(Search, ANodeOfFewThatDiesIsUnknown) {
  for (const std::uint32_t nodes : {3u, 4u, 5u, 8u})
    for (const std::size_t last : {1u, 2u, 3u, 5u}) {
      const auto found = findings_with(nodes, [&](std::size_t round, auto a, auto b) {
        return rate_if(round <= last || (a != 2 && b != 2));
      });
      const auto& list = found.left.empty() ? found.unknown : found.left;
      EXPECT_EQ(list, std::vector<std::string>{"n2"}) << nodes << " " << last;
    }
}

TEST(Search, ALinkThatNeverAnswersIsNamed) {
  for (const std::uint32_t nodes : {3u, 4u, 8u}) {
    const auto found =
        findings_with(nodes, [](auto, auto a, auto b) { return rate_if(a != 0 || b != 2); });
    ASSERT_EQ(found.failing.size(), 1u) << nodes;
    EXPECT_EQ(found.failing[0].name + found.failing[0].other, "n0n2");
    EXPECT_GE(found.failing[0].failed, 3u);
    EXPECT_TRUE(found.unknown.empty() && found.left.empty());
  }
}

// In rounds 3 to 5 each of the three groups fails with both others.
TEST(Search, GroupsAreJudgedWhateverFailedBefore) {
  const auto rate = [](auto round, auto a, auto b) {
    const bool across = a / 4 != b / 4, slow = across && (a / 4 == 1 || b / 4 == 1);
    return across && round >= 3 && round <= 5 ? std::nullopt : std::optional(slow ? 80.0 : 100.0);
  };
  EXPECT_FALSE(findings_with(12, rate, 4).slow.empty());
}

TEST(Search, NodesOfAFleetInTwoPartsAreNamed) {
  const auto found =
      findings_with(8, [](auto, auto a, auto b) { return rate_if((a < 4) == (b < 4)); });
  EXPECT_EQ(found.failing.size(), 4u);
  for (const FailedPart& part : found.failing) EXPECT_EQ(part.partners.size(), 4u);
}

// As long as one of its pairs has failed: in a few of these fleets none does.
TEST(Search, ANodeThatFailsNowAndThenIsNamed) {
  int named = 0, failed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Fabric fabric(64, 0, seed);
    const auto found = findings_with(64, [&](auto, auto a, auto b) {
      return rate_if((a != 3 && b != 3) || fabric.uniform() > 0.4);
    });
    failed += found.failed_pairs > 0;
    named += !found.failing.empty() || !found.left.empty() || !found.unknown.empty();
  }
  EXPECT_GE(failed, 30);
  EXPECT_GE(named, 0.8 * failed);
}

// It has too few nodes left to measure its uplink by.
TEST(Search, EndsWhereMostNodesOfAGroupAreSlow) {
  for (const std::uint32_t slow : {6u, 7u}) {
    const auto found = findings_with(
        64,
        [&](auto, auto a, auto b) -> std::optional<double> {
          return a < slow || b < slow ? 80 : 100;
        },
        8);
    EXPECT_EQ(found.ended, SearchEnd::settled) << slow;
    EXPECT_FALSE(found.slow.empty());  // the nodes, or their group
  }
}

TEST(Search, ANodeWithWrongValuesIsFailingAndNotUnknown) {
  SlowSearch search{.map = Fabric(8, 0, 1).map, .options = {}, .rounds = {}};
  std::vector<PairRate> round;
  for (const auto& [a, b] : next_round(search))
    round.push_back({.a = a,
                     .b = b,
                     .rate = a == 0 ? std::nullopt : std::optional(100.0),
                     .wrong_values = a == 0});
  search.rounds.push_back(std::move(round));
  const auto found = findings_of(search);
  EXPECT_TRUE(found.unknown.empty());
  EXPECT_FALSE(found.failing.empty());
}

// The first half of the nodes with the second, as one round; `answers` pairs of them answer.
std::vector<PairRate> round_of(std::uint32_t nodes, std::uint32_t answers, double rate = 100) {
  std::vector<PairRate> round;
  for (std::uint32_t i = 0; i < nodes / 2; ++i)
    round.push_back(
        {.a = i, .b = i + nodes / 2, .rate = i < answers ? std::optional(rate) : std::nullopt});
  return round;
}

// Where less than a quarter answers, the job died and no node is blamed; of few nodes, all may have
// been the slow one's.
TEST(Search, ARoundThatFewAnswerIsLost) {
  struct Case {
    std::uint32_t nodes, answers;
    unsigned answered_rounds, lost_rounds, failures;
  };
  for (const auto& [nodes, answers, answered_rounds, lost_rounds, failures] :
       {Case{16, 0, 1, 2, 0}, Case{16, 1, 1, 2, 0}, Case{16, 2, 3, 0, 2}, Case{10, 0, 1, 0, 2},
        Case{10, 1, 3, 0, 2}}) {
    SCOPED_TRACE(testing::Message() << answers << " of " << nodes);
    const auto round = round_of(nodes, answers);
    SlowSearch search{.map = map_of(Fabric(nodes, 0, 1).map.nodes, {}),
                      .options = {},
                      .rounds = {round_of(nodes, nodes / 2), round, round}};
    auto judged = judge(search);
    EXPECT_EQ(judged.answered_rounds, answered_rounds);
    EXPECT_EQ(judged.lost_rounds, lost_rounds);
    EXPECT_EQ(judged.failures[nodes - 1], failures);
    EXPECT_EQ(judged.failures[0], answers > 0 ? 0 : failures);
    search.rounds.push_back(round_of(nodes, nodes / 2));
    judged = judge(search);
    EXPECT_EQ(judged.lost_rounds, 0u);
    EXPECT_EQ(judged.failures, std::vector<unsigned>(nodes));
  }
}

// However many pairs across groups are slower, what is usual is the rate within.
TEST(Search, PairsAcrossGroupsDoNotSayWhatIsUsual) {
  SlowSearch search{.map = Fabric(64, 32, 1).map, .options = {}, .rounds = {}};
  std::vector<PairRate> within;
  for (std::uint32_t i = 0; i < 64; i += 2) within.push_back({.a = i, .b = i + 1, .rate = 100});
  search.rounds = {within, round_of(64, 32, 50), round_of(64, 32, 50), round_of(64, 32, 50)};
  const auto judged = judge(search);
  EXPECT_DOUBLE_EQ(judged.usual_rate, 100);
  EXPECT_DOUBLE_EQ(judged.across_share.value_or(0), 0.5);
  for (const auto& part : judged.nodes.parts) EXPECT_EQ(part.answers, 1u);
}

TEST(Search, ThreePairsThatAnswerSayWhatTwoGroupsShare) {
  const auto share = [](std::uint32_t answers, std::uint32_t failures) {
    std::vector<PairRate> within, across;
    for (std::uint32_t i = 0; i < 64; i += 2) within.push_back({.a = i, .b = i + 1, .rate = 100});
    for (std::uint32_t i = 0; i < answers + failures; ++i)
      across.push_back({.a = i, .b = i + 32, .rate = {}});
    for (std::uint32_t i = 0; i < answers; ++i) across[i].rate = 50;
    return judge({.map = Fabric(64, 32, 1).map,
                  .options = {},
                  .rounds = {within, across, across, across}})
        .across_share;
  };
  EXPECT_EQ(share(2, 0), std::nullopt);
  EXPECT_EQ(share(2, 1), std::nullopt);
  EXPECT_DOUBLE_EQ(share(3, 0).value_or(0), 0.5);
  EXPECT_DOUBLE_EQ(share(3, 1).value_or(0), 0.5);
}

}  // namespace
}  // namespace gpuready::fleet
