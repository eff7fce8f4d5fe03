// Which nodes share a leaf switch or a block, as Slurm's topology.conf(5) says it. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuready::fleet {

struct NodeGroup {
  std::string name;
  std::vector<std::string> nodes;
};

// The lines with Nodes=, such as "SwitchName=leaf1 Nodes=n[1-16]" and "BlockName=b1 Nodes=...".
// Switches of switches are skipped: only groups of nodes are judged. A node of two groups is an
// error.
Result<std::vector<NodeGroup>> parse_topology(std::string_view text);

// A smaller group has too few partners to say which node is slow, or that its uplink is.
inline constexpr std::size_t kLeastGroup = 4;

// The fleet as numbers: what the search works on.
struct FleetMap {
  std::vector<std::string> nodes;
  std::vector<std::string> groups;  // with at least kLeastGroup of these nodes
  std::vector<int> group_of;        // by node; -1: none
  // Nodes are first paired within a block: their group, or all nodes without one.
  std::vector<int> block_of;
};

// Nodes of the topology that are not in `nodes` are left out. No `nodes`: those of the topology.
FleetMap map_of(std::vector<std::string> nodes, const std::vector<NodeGroup>& topology);

// The fleet of a list of nodes, else of the topology's text, else of the Slurm job that runs this.
// A node that is named twice is an error, and so are fewer than three nodes.
Result<FleetMap> fleet_of(std::string_view list, const std::optional<std::string>& topology,
                          std::string_view nodes_of_job);

}  // namespace gpuready::fleet
