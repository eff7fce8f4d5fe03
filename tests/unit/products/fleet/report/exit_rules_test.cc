// With which code `fleet` ends, of each thing that may have been found, and of several.
#include "fleet/report/exit_rules.h"

#include <gtest/gtest.h>

#include <functional>

namespace gpuready {
namespace {

using fleet::Fleet;
using fleet::NodeState;
using fleet::SearchEnd;
using fleet::SlowFindings;

Exit exit_of_nodes(const std::vector<NodeState>& states, std::size_t unread = 0) {
  Fleet merged;
  merged.unread = unread;
  for (const NodeState state : states) merged.nodes.emplace_back().state = state;
  return exit_of(merged);
}

TEST(FleetExit, TheMostUrgentNodeDecides) {
  using enum NodeState;
  EXPECT_EQ(exit_of_nodes({ready}), Exit::ok);
  EXPECT_EQ(exit_of_nodes({not_tested, no_gpu}), Exit::ok);
  EXPECT_EQ(exit_of_nodes({ready, unknown}), Exit::unknown);
  EXPECT_EQ(exit_of_nodes({ready, unknown, absent}), Exit::required_absent);
  EXPECT_EQ(exit_of_nodes({ready, unknown, absent, bad}), Exit::unhealthy);
}

TEST(FleetExit, AFleetWithoutNodesOrWithAnUnreadReportIsNotKnown) {
  using enum NodeState;
  EXPECT_EQ(exit_of_nodes({}), Exit::unknown);
  EXPECT_EQ(exit_of_nodes({}, 1), Exit::unknown);
  EXPECT_EQ(exit_of_nodes({ready}, 1), Exit::unknown);
  EXPECT_EQ(exit_of_nodes({bad}, 1), Exit::unhealthy);
}

Exit exit_of_search(const std::function<void(SlowFindings&)>& found) {
  SlowFindings findings;
  found(findings);
  return exit_of(findings);
}

TEST(FleetSlowExit, WhatIsSlowOrComputesWrongTwiceIsUnhealthy) {
  EXPECT_EQ(exit_of_search([](SlowFindings&) {}), Exit::ok);
  EXPECT_EQ(exit_of_search([](SlowFindings& f) { f.slow.resize(1); }), Exit::unhealthy);
  const auto wrong = [](std::vector<unsigned> values) {
    return exit_of_search([&](SlowFindings& f) {
      for (const unsigned number : values) f.failing.emplace_back().wrong = number;
    });
  };
  EXPECT_EQ(wrong({0}), Exit::unknown);
  EXPECT_EQ(wrong({1, 0}), Exit::unknown);
  EXPECT_EQ(wrong({2}), Exit::unhealthy);
  EXPECT_EQ(wrong({1, 1}), Exit::unhealthy);
}

TEST(FleetSlowExit, ASearchWithoutAWholeAnswerIsNotKnown) {
  const std::function<void(SlowFindings&)> each[] = {
      [](SlowFindings& f) { f.ended = SearchEnd::most_rounds; },
      [](SlowFindings& f) { f.ended = SearchEnd::no_answers; },
      [](SlowFindings& f) { f.ended = SearchEnd::interrupted; },
      [](SlowFindings& f) { f.ended = SearchEnd::too_varied; },
      [](SlowFindings& f) { f.ended = SearchEnd::ended_before; },
      [](SlowFindings& f) { f.suspects.resize(1); },
      [](SlowFindings& f) { f.unknown = {"n1"}; },
      [](SlowFindings& f) { f.left = {"n1"}; },
      [](SlowFindings& f) { f.failing.resize(1); },
  };
  for (const auto& found : each) {
    EXPECT_EQ(exit_of_search(found), Exit::unknown) << &found - each;
    EXPECT_EQ(exit_of_search([&](SlowFindings& f) {
                found(f);
                f.slow.resize(1);
              }),
              Exit::unhealthy)
        << &found - each;
  }
}

TEST(FleetSlowExit, APlanJudgesNothing) {
  EXPECT_EQ(exit_of_search([](SlowFindings& f) {
              f.ended = SearchEnd::planned;
              f.slow.resize(1);
              f.unknown = {"n1"};
            }),
            Exit::ok);
}

}  // namespace
}  // namespace gpuready
