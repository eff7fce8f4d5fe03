#include "fleet/slow/topology.h"

#include <gtest/gtest.h>

namespace gpuready::fleet {
namespace {

TEST(Topology, ReadsLeavesAndBlocksAsSlurmWritesThem) {
  const auto groups = parse_topology(
      "# of the hall\n"
      "SwitchName=leaf1 LinkSpeed=400 Nodes=n[01-03],login1\n"
      "switchname=leaf2 \\\n  NODES=n[04-05]  # short\n"
      "\n"
      "SwitchName=spine Switches=leaf[1-2]\n"
      "BlockName=b1 Nodes=x1\n");
  ASSERT_TRUE(groups) << groups.error().message;
  ASSERT_EQ(groups->size(), 3u);
  EXPECT_EQ((*groups)[0].name, "leaf1");
  EXPECT_EQ((*groups)[0].nodes, (std::vector<std::string>{"n01", "n02", "n03", "login1"}));
  EXPECT_EQ((*groups)[1].name, "leaf2");
  EXPECT_EQ((*groups)[1].nodes, (std::vector<std::string>{"n04", "n05"}));
  EXPECT_EQ((*groups)[2].name, "b1");
}

TEST(Topology, SaysWhatIsWrong) {
  const auto message = [](std::string_view text) {
    const auto groups = parse_topology(text);
    return groups ? "accepted" : groups.error().message;
  };
  EXPECT_EQ(message("Nodes=n1"),
            "topology, line 1: Nodes= needs SwitchName= or BlockName= before it");
  EXPECT_EQ(message("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n2"),
            "topology, line 2: node n2 is in a and in b");
  EXPECT_TRUE(message("\nSwitchName=a Nodes=n[2-1]").starts_with("topology, line 2: "));
  EXPECT_EQ(message("SwitchName=spine Switches=leaf[1-2]"),
            "the topology has no line such as \"SwitchName=leaf1 Nodes=n[1-16]\"");
}

TEST(Topology, SmallGroupsAreMeasuredTogether) {
  std::vector<NodeGroup> topology = {{"a", {"n1", "n2", "n3", "n4"}},
                                     {"b", {"n5", "n6", "n7", "n8", "gone"}},
                                     {"c", {"n9", "n10"}},
                                     {"d", {"n11", "n12"}}};
  std::vector<std::string> nodes;
  for (int i = 1; i <= 12; ++i) nodes.push_back("n" + std::to_string(i));
  const FleetMap map = map_of(nodes, topology);
  EXPECT_EQ(map.groups, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(map.group_of, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, -1, -1, -1, -1}));
  EXPECT_EQ(map.block_of, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
  nodes.pop_back();  // three are too few
  EXPECT_EQ(map_of(nodes, topology).block_of, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(map_of({}, topology).nodes.size(), 13u);
  EXPECT_EQ(map_of(nodes, {}).block_of, std::vector<int>(11, 0));
}

TEST(FleetOf, TheListThenTheTopologyThenTheJob) {
  using Names = std::vector<std::string>;
  const std::string topology = "SwitchName=s1 Nodes=t[1-4]\n";
  EXPECT_EQ(fleet_of("a[1-3]", {}, "j[1-3]")->nodes, (Names{"a1", "a2", "a3"}));
  EXPECT_EQ(fleet_of("", topology, "j[1-3]")->nodes, (Names{"t1", "t2", "t3", "t4"}));
  EXPECT_EQ(fleet_of("", {}, "j[1-3]")->nodes, (Names{"j1", "j2", "j3"}));
  const auto both = fleet_of("t[1-5]", topology, "");  // the topology groups the list's nodes
  ASSERT_TRUE(both);
  EXPECT_EQ(both->nodes, (Names{"t1", "t2", "t3", "t4", "t5"}));
  EXPECT_EQ(both->groups, Names{"s1"});
  EXPECT_EQ(both->group_of, (std::vector<int>{0, 0, 0, 0, -1}));
}

TEST(FleetOf, SaysWhyItIsNoFleet) {
  const auto message = [](std::string_view list, const std::optional<std::string>& topology = {},
                          std::string_view job = "") {
    const auto map = fleet_of(list, topology, job);
    EXPECT_TRUE(map || map.error().kind == ErrorKind::bad_input);
    return map ? "accepted" : map.error().message;
  };
  EXPECT_EQ(message(""),
            "no nodes are given: name them with --nodes or --topology, or run it in a Slurm job");
  EXPECT_EQ(message("", ""), "the topology has no line such as \"SwitchName=leaf1 Nodes=n[1-16]\"");
  EXPECT_EQ(message("n3,n1,n[2-3]"), "node n3 is named twice");
  EXPECT_EQ(message("n[1-2]"), "three nodes are needed: of two, either may be the slow one");
  EXPECT_EQ(message("n[1-3]"), "accepted");
  EXPECT_NE(message("n[1-"), "accepted");
  EXPECT_NE(message("", {}, "n[1-"), "accepted");
}

}  // namespace
}  // namespace gpuready::fleet
