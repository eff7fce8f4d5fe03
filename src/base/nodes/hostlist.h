// Lists of nodes as Slurm, pdsh and clush write them: node[01-03,07],login1. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuready {

inline constexpr std::size_t kMostHosts = 100'000;

// "n07" of "n07.cluster.example"; an IP address stays whole.
inline std::string_view short_host_name(std::string_view name) {
  const bool address = name.find_first_not_of("0123456789.") == name.npos;
  return address ? name : name.substr(0, name.find('.'));
}

// The names in the order of the list, which commas or white space separate. More than kMostHosts
// are an error.
Result<std::vector<std::string>> parse_hostlist(std::string_view text);
// Of nodes: at least one, and names that a shell and a scheduler read as such.
Result<std::vector<std::string>> parse_nodes(std::string_view text);

// The shortest list of these names, each once: names that differ in their last number are folded.
std::string fold_hostlist(const std::vector<std::string>& names);

}  // namespace gpuready
