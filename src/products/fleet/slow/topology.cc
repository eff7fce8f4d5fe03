#include "fleet/slow/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/nodes/hostlist.h"
#include "base/text.h"

namespace gpuready::fleet {

Result<std::vector<NodeGroup>> parse_topology(std::string_view text) {
  std::vector<NodeGroup> groups;
  std::map<std::string, std::string> group_of;
  std::string line;
  std::size_t number = 0;
  for (const std::string_view raw : lines(text)) {
    ++number;
    line += raw.substr(0, raw.find('#'));
    if (!line.empty() && line.back() == '\\') {  // goes on in the next line
      line.back() = ' ';
      continue;
    }
    NodeGroup group;
    std::string nodes;
    const std::string whole = std::exchange(line, {});
    for (const std::string_view word : split(whole, " \t")) {
      const std::size_t equals = word.find('=');
      const std::string key = to_lower(word.substr(0, equals));
      const std::string value(equals == word.npos ? "" : word.substr(equals + 1));
      if (key == "switchname" || key == "blockname") group.name = value;
      if (key == "nodes") nodes = value;
    }
    if (nodes.empty()) continue;
    const auto where = [&] { return fmt::format("topology, line {}", number); };
    if (group.name.empty())
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: Nodes= needs SwitchName= or BlockName= before it", where()));
    auto names = parse_nodes(nodes);
    if (!names)
      return fail(ErrorKind::bad_input, fmt::format("{}: {}", where(), names.error().message));
    for (const std::string& name : *names)
      if (const auto [at, added] = group_of.emplace(name, group.name); !added)
        return fail(ErrorKind::bad_input,
                    fmt::format("{}: node {} is in {} and in {}", where(), printable(name),
                                printable(at->second), printable(group.name)));
    group.nodes = std::move(*names);
    groups.push_back(std::move(group));
  }
  if (groups.empty())
    return fail(ErrorKind::bad_input,
                "the topology has no line such as \"SwitchName=leaf1 Nodes=n[1-16]\"");
  return groups;
}

FleetMap map_of(std::vector<std::string> nodes, const std::vector<NodeGroup>& topology) {
  if (nodes.empty())
    for (const NodeGroup& group : topology)
      nodes.insert(nodes.end(), group.nodes.begin(), group.nodes.end());
  FleetMap map;
  map.nodes = std::move(nodes);
  std::map<std::string, int> index;
  for (const std::string& name : map.nodes) index.emplace(name, static_cast<int>(index.size()));
  map.group_of.assign(map.nodes.size(), -1);
  for (const NodeGroup& group : topology) {
    std::vector<int> members;
    for (const std::string& name : group.nodes)
      if (const auto at = index.find(name); at != index.end()) members.push_back(at->second);
    if (members.size() < kLeastGroup) continue;
    for (const int node : members)
      map.group_of[static_cast<std::size_t>(node)] = static_cast<int>(map.groups.size());
    map.groups.push_back(group.name);
  }
  map.block_of = map.group_of;
  std::ranges::replace(map.block_of, -1, static_cast<int>(map.groups.size()));
  // Too few without a group are paired with the first group's.
  if (!map.groups.empty() && std::ranges::count(map.group_of, -1) < std::ptrdiff_t{kLeastGroup})
    std::ranges::replace(map.block_of, static_cast<int>(map.groups.size()), 0);
  return map;
}

Result<FleetMap> fleet_of(std::string_view list, const std::optional<std::string>& topology,
                          std::string_view nodes_of_job) {
  if (list.empty() && !topology) list = nodes_of_job;
  if (list.empty() && !topology)
    return fail(ErrorKind::bad_input,
                "no nodes are given: name them with --nodes or --topology, or run it in a Slurm "
                "job");
  std::vector<NodeGroup> groups;
  if (topology) groups = TRY(parse_topology(*topology));
  std::vector<std::string> nodes;
  if (!list.empty()) nodes = TRY(parse_nodes(list));
  auto sorted = nodes;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return fail(ErrorKind::bad_input, fmt::format("node {} is named twice", printable(*twice)));
  auto map = map_of(std::move(nodes), groups);
  if (map.nodes.size() < 3)
    return fail(ErrorKind::bad_input, "three nodes are needed: of two, either may be the slow one");
  return map;
}

}  // namespace gpuready::fleet
