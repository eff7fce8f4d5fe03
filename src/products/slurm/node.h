// A node as `scontrol show node` describes it, and what of it others have decided. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuready::slurm {

struct Node {
  std::string name = {};
  std::vector<std::string> states = {};  // IDLE, DRAIN, ...: without the marks that follow a word
  std::string reason = {};               // all its lines, without who set it and when; empty: none

  bool is(std::string_view state) const;
  bool drained() const;  // no further job starts: DRAIN, whether or not jobs still run
};

// The node of this name in that text, of Slurm 22.05 or newer.
Result<Node> parse_node(std::string_view text, std::string_view name);

// A state in which another user, or Slurm itself, decides about the node: down, failed, in
// maintenance, rebooting, powered off. Absent: none.
std::optional<std::string> held_by_others(const Node& node);
// Whether every state is one that we know a healthy node or one that we drained to have.
bool can_resume(const Node& node);

}  // namespace gpuready::slurm
