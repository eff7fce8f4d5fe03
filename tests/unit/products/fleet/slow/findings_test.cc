#include "fleet/slow/findings.h"

#include <gtest/gtest.h>

#include "unit/products/fleet/slow/simulated_fabric.h"

namespace gpuready::fleet {
namespace {

using Texts = std::vector<std::string>;

TEST(PlanOfASearch, NamesThePairsOfTheNextRoundUntilItHasEnded) {
  SlowSearch search{.map = map_of({"n1", "n2", "n3", "n4"}, {}), .options = {}, .rounds = {}};
  SlowFindings findings;
  add_plan(findings, search);
  EXPECT_EQ(findings.ended, SearchEnd::planned);
  const auto pairs = next_round(search);
  ASSERT_EQ(findings.next_round.size(), 2u);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(findings.next_round[i].a, search.map.nodes[pairs[i].first]);
    EXPECT_EQ(findings.next_round[i].b, search.map.nodes[pairs[i].second]);
  }
  search.options.most_rounds = 0;
  SlowFindings ended;
  add_plan(ended, search);
  EXPECT_EQ(ended.ended, SearchEnd::settled);
  EXPECT_TRUE(ended.next_round.empty());
}

std::vector<PairRate> round_of(std::initializer_list<PairRate> pairs) { return pairs; }

TEST(FindingsOfASearch, CountsPairsByWhetherTheyHaveARate) {
  SlowSearch search{.map = map_of({"n1", "n2", "n3", "n4", "n5", "n6"}, {}),
                    .options = {.most_rounds = 1},
                    .rounds = {round_of({{.a = 0, .b = 1, .rate = 10},
                                         {.a = 2, .b = 3, .rate = 10},
                                         {.a = 4, .b = 5, .rate = {}, .wrong_values = true}})}};
  const auto findings = findings_of(search);
  EXPECT_EQ(findings.nodes, 6u);
  EXPECT_EQ(findings.groups, 0u);
  EXPECT_EQ(findings.rounds, 1u);
  EXPECT_EQ(findings.measured_pairs, 2u);
  EXPECT_EQ(findings.failed_pairs, 1u);
  EXPECT_EQ(findings.unknown, Texts{});  // n5 and n6 answered wrongly
  EXPECT_EQ(findings.ended, SearchEnd::most_rounds);
  search.rounds[0][2].wrong_values = false;
  EXPECT_EQ(findings_of(search).unknown, (Texts{"n5", "n6"}));
  search.rounds.clear();
  const auto nothing = findings_of(search);
  EXPECT_EQ(nothing.usual_rate, std::nullopt);
  EXPECT_EQ(nothing.noise, std::nullopt);
  EXPECT_EQ(nothing.limit_share, std::nullopt);
  EXPECT_EQ(nothing.ended, SearchEnd::interrupted);
}

// Two groups of four, in which pairs within answer; `across` fail with the other group.
Texts notes_with_failures(unsigned across) {
  SlowSearch search{
      .map = map_of({"a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4"},
                    {{"a", {"a1", "a2", "a3", "a4"}}, {"b", {"b1", "b2", "b3", "b4"}}}),
      .options = {.most_rounds = 2},
      .rounds = {round_of({{.a = 0, .b = 1, .rate = 10},
                           {.a = 2, .b = 3, .rate = 10},
                           {.a = 4, .b = 5, .rate = 10},
                           {.a = 6, .b = 7, .rate = 10}}),
                 {}}};
  for (unsigned i = 0; i < across; ++i)
    search.rounds[1].push_back({.a = i, .b = i + 4, .rate = {}, .wrong_values = false});
  return findings_of(search).notes;
}

TEST(FindingsOfASearch, AGroupIsCutOffAfterThreeFailuresAcrossAndNoAnswer) {
  const std::string two =
      "Groups are compared with each other, which needs three of at least four nodes. Only nodes "
      "and links were judged.";
  EXPECT_EQ(notes_with_failures(2), Texts{two});
  EXPECT_EQ(notes_with_failures(3),
            (Texts{"Pairs within a, b answered, and none with another group did: look at the "
                   "uplinks.",
                   two}));
}

TEST(FindingsOfASearch, TheSlowestComesFirstAndIsSure) {
  for (const auto& [slower, slow] : {std::pair{5u, 20u}, {20u, 5u}}) {
    test::Fabric fabric(32, 0, 1);
    fabric.node[slower] = 0.6;
    fabric.node[slow] = 0.8;
    const auto findings = findings_of(test::run_search(fabric, 1));
    ASSERT_EQ(findings.slow.size(), 2u);
    EXPECT_EQ(findings.slow[0].name, "n" + std::to_string(slower));
    EXPECT_NEAR(findings.slow[0].share, 0.6, 0.05);
    EXPECT_EQ(findings.slow[1].name, "n" + std::to_string(slow));
    for (const SlowPart& part : findings.slow) EXPECT_GT(part.confidence, 0.99);
  }
}

// 3% less across groups may be chance.
TEST(FindingsOfASearch, WhatGroupsShareIsToldFromThreePercentOn) {
  const auto notes_at = [](double across) {
    std::vector<PairRate> within, between;
    for (std::uint32_t i = 0; i < 64; i += 2) within.push_back({.a = i, .b = i + 1, .rate = 100});
    for (std::uint32_t i = 0; i < 32; ++i) between.push_back({.a = i, .b = i + 32, .rate = across});
    const auto findings = findings_of({.map = test::Fabric(64, 32, 1).map,
                                       .options = {},
                                       .rounds = {within, between, between, between}});
    return std::ranges::count_if(findings.notes, [](const std::string& note) {
      return note.starts_with("When all groups measure across");
    });
  };
  EXPECT_EQ(notes_at(96), 1);
  EXPECT_EQ(notes_at(98), 0);
}

}  // namespace
}  // namespace gpuready::fleet
