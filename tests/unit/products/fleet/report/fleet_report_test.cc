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

// A fleet with something of each kind.
Fleet whole_fleet() {
  Fleet fleet;
  const auto add = [&](const char* name, NodeState state, Action action, const char* reason) {
    auto& node = fleet.nodes.emplace_back();
    node.name = name;
    node.state = state;
    node.action = action;
    node.reason = reason;
  };
  add("n1", NodeState::bad, Action::reset_gpu, "GPU 1 hangs");
  add("n2", NodeState::absent, Action::none, "It did not report.");
  add("n3", NodeState::not_tested, Action::none, "");
  add("n4", NodeState::ready, Action::none, "");
  fleet.causes = {
      {"gpu-hangs", "A GPU hangs.", "Reset it.", Severity::error, Action::reset_gpu, {"n1"}, 1},
      {"old-driver", "An old driver.", "", Severity::warning, Action::none, {"n2", "n3"}, 0}};
  fleet.slow = {{"DGX", "n4", 0, "memory", "GB/s", 50, 100, 95, 6}};
  fleet.differences = {{"DGX", "VBIOS", "b", "a", {"n4"}, 5, 6}};
  fleet.repairs = {{"n4", 0, "GPU 0 hung.", true, 86'400}, {"n3", 0, "GPU 7 hung.", false, {}}};
  fleet.changes = {{"n4", -1, "serial", "7", "8"}};
  fleet.notes = {"One report is of another form.", "The clock of n3 is ahead."};
  return fleet;
}
const std::string kSlow =
                      "n4 GPU 0: memory 50 GB/s, 50.0% below the usual 100 GB/s (6 of DGX); the "
                      "limit is 95 GB/s",
                  kDifferent = "n4: VBIOS: b; 5 of 6 siblings: a",
                  kRepaired =
                      "n4: bad since 1970-01-01T00:00:00Z (GPU 0 hung.); ready by a test "
                      "of 1970-01-02T00:00:00Z",
                  kUnproven =
                      "n3: bad since 1970-01-01T00:00:00Z (GPU 7 hung.); no test has "
                      "passed since",
                  kChanged = "n4: serial: 8, before: 7",
                  kWholeConclusion = "4 nodes: 1 ready, 1 bad, 1 absent, 1 not tested.";

TEST(FleetReport, TheTerminalShowsAllThatIsNotReadyAndWhatChanged) {
  const std::string bad =
      "[x] n1: GPU 1 hangs. Action: reset gpu.\n"
      "[x] n2: It did not report.\n";
  const std::string rest =
      "\nUnlike their siblings\n  [!] " + kSlow + "\n  [!] " + kDifferent +
      "\n\nSince the reports before\n  [ok] " + kRepaired + "\n  [!] " + kUnproven + "\n  [-] " +
      kChanged + "\n\n[!] One report is of another form.\n[!] The clock of n3 is ahead.\n\n[x] " +
      kWholeConclusion + "\n";
  TerminalStyle style;
  style.columns = 400;
  EXPECT_EQ(render_terminal(whole_fleet(), style), bad +
                                                       "[-] n3: not tested.\n"
                                                       "\nCauses\n"
                                                       "  [x] 1 node (n1): A GPU hangs.\n"
                                                       "      Reset it.\n"
                                                       "  [!] 2 nodes (n[2-3]): An old driver.\n" +
                                                       rest);
  style.quiet = true;
  EXPECT_EQ(render_terminal(whole_fleet(), style), bad + rest);
  EXPECT_EQ(render_terminal(fleet_of({NodeState::ready}), TerminalStyle()),
            "[ok] 1 node: 1 ready.\n");
}

TEST(FleetReport, MarkdownHasAListOfEachKindThatThereIs) {
  Envelope envelope;
  envelope.created_utc = "2026-11-30";
  const std::string head = "# Fleet\n\n**",
                    table =
                        "** 2026-11-30\n\n| nodes | state | action | why |\n|---|---|---|---|\n";
  EXPECT_EQ(render_markdown(whole_fleet(), envelope),
            head + kWholeConclusion + table +
                "| n1 | bad | reset gpu | GPU 1 hangs |\n"
                "| n2 | absent |  | It did not report. |\n"
                "| n3 | not tested |  |  |\n"
                "| n4 | ready |  |  |\n"
                "\n## Causes\n\n"
                "- 1 node (n1): A GPU hangs.  \n  Reset it.\n"
                "- 2 nodes (n\\[2-3\\]): An old driver.\n"
                "\n## Slower than their siblings\n\n- " +
                kSlow + "\n\n## Different from their siblings\n\n- " + kDifferent +
                "\n\n## Repairs\n\n- " + kRepaired + "\n- " + kUnproven + "\n\n## Changes\n\n- " +
                kChanged +
                "\n\n## Notes\n\n- One report is of another form.\n- The clock of n3 is ahead.\n");
  EXPECT_EQ(render_markdown(fleet_of({NodeState::ready}), envelope),
            head + "1 node: 1 ready." + table + "|  | ready |  |  |\n");
}

}  // namespace
}  // namespace gpuready
