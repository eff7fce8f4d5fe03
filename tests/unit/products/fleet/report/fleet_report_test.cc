// The lines of `fleet merge` that its forms share.
#include "fleet/report/fleet_report.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

using fleet::Fleet;
using fleet::NodeState;

Fleet fleet_of(const std::vector<NodeState>& states) {
  Fleet fleet;
  for (const NodeState state : states) fleet.nodes.emplace_back().state = state;
  return fleet;
}

TEST(FleetReport, TheConclusionCountsWhatIsReadyAndTheStatesThatThereAre) {
  using enum NodeState;
  EXPECT_EQ(conclusion_of(fleet_of({})), "0 nodes: 0 ready.");
  EXPECT_EQ(conclusion_of(fleet_of({ready})), "1 node: 1 ready.");
  EXPECT_EQ(conclusion_of(fleet_of({bad})), "1 node: 0 ready, 1 bad.");
  EXPECT_EQ(conclusion_of(fleet_of({no_gpu, not_tested, unknown, absent, bad, bad, ready})),
            "7 nodes: 1 ready, 2 bad, 1 absent, 1 unknown, 1 not tested, 1 without a GPU.");
  Fleet unread = fleet_of({ready});
  unread.unread = 2;
  EXPECT_EQ(conclusion_of(unread), "1 node: 1 ready, 2 reports not read.");
}

TEST(FleetReport, NodesOfOneStateActionAndReasonAreOneLine) {
  Fleet fleet;
  const auto add = [&](const char* name, NodeState state, Action action, const char* reason) {
    auto& node = fleet.nodes.emplace_back();
    node.name = name;
    node.state = state;
    node.action = action;
    node.reason = reason;
  };
  add("n01", NodeState::bad, Action::reset_gpu, "GPU 1 hangs.");
  add("n02", NodeState::bad, Action::replace, "GPU 1 hangs.");
  add("n03", NodeState::bad, Action::reset_gpu, "GPU 1 hangs.");
  add("n04", NodeState::bad, Action::reset_gpu, "GPU 2 hangs.");
  add("n05", NodeState::unknown, Action::reset_gpu, "GPU 1 hangs.");
  std::string text;
  for (const NodeGroup& group : groups_of(fleet))
    text += group.nodes + " " + std::to_string(group.count) + " " + action_text(group.action) +
            " " + group.reason + "\n";
  EXPECT_EQ(text,
            "n[01,03] 2 reset gpu GPU 1 hangs.\n"
            "n02 1 replace GPU 1 hangs.\n"
            "n04 1 reset gpu GPU 2 hangs.\n"
            "n05 1 reset gpu GPU 1 hangs.\n");
}

TEST(FleetReport, WhatIsOfAGpuNamesItFromTheFirstOn) {
  const auto change = [](int gpu) {
    return change_text({.node = "n1", .gpu = gpu, .what = "serial", .before = "7", .after = "8"});
  };
  EXPECT_EQ(change(-1), "n1: serial: 8, before: 7");
  EXPECT_EQ(change(0), "n1 GPU 0: serial: 8, before: 7");
  EXPECT_EQ(change(7), "n1 GPU 7: serial: 8, before: 7");
}

}  // namespace
}  // namespace gpuready
