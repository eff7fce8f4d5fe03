#include "slurm/node.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/characters.h"
#include "base/text.h"

namespace gpuready::slurm {
namespace {

enum class Means {
  serves,   // jobs, or could
  drained,  // by anyone
  apart,    // another user or Slurm itself decides about it
};
struct State {
  std::string_view name;
  Means means;
};
// As Slurm 20.11 to 25.05 names them. A state that is missing here prevents no drain,
// and every resume.
constexpr State kStates[] = {
    {"IDLE", Means::serves},
    {"ALLOCATED", Means::serves},
    {"MIXED", Means::serves},
    {"COMPLETING", Means::serves},
    {"RESERVED", Means::serves},
    {"PLANNED", Means::serves},
    {"CLOUD", Means::serves},
    {"DYNAMIC_NORM", Means::serves},
    {"DRAIN", Means::drained},
    {"DRAINED", Means::drained},
    {"DRAINING", Means::drained},
    {"DOWN", Means::apart},
    {"ERROR", Means::apart},
    {"FAIL", Means::apart},
    {"FAILING", Means::apart},
    {"FUTURE", Means::apart},
    {"INVAL", Means::apart},
    {"INVALID_REG", Means::apart},
    {"MAINT", Means::apart},
    {"MAINTENANCE", Means::apart},
    {"NOT_RESPONDING", Means::apart},
    {"POWER_DOWN", Means::apart},
    {"POWERING_DOWN", Means::apart},
    {"POWERED_DOWN", Means::apart},
    {"POWERING_UP", Means::apart},
    {"POWER_UP", Means::apart},
    {"POWER_DRAIN", Means::apart},
    {"REBOOT", Means::apart},
    {"REBOOT_REQUESTED", Means::apart},
    {"REBOOT_ISSUED", Means::apart},
    {"UNKNOWN", Means::apart},
};

const State* known(std::string_view name) {
  const auto* found = std::ranges::find(kStates, name, &State::name);
  return found == std::end(kStates) ? nullptr : found;
}

bool any(const Node& node, Means means) {
  return std::ranges::any_of(node.states, [&](const std::string& name) {
    const State* state = known(name);
    return state != nullptr && state->means == means;
  });
}

std::vector<std::string> states_of(std::string_view text) {
  std::vector<std::string> states;
  for (std::string_view word : split(text, "+")) {
    const auto is_mark = [](char c) { return !is_letter_or_digit(c) && c != '_'; };
    while (!word.empty() && is_mark(word.back())) word.remove_suffix(1);  // "DOWN*", "IDLE~"
    if (!word.empty()) states.emplace_back(word);
  }
  return states;
}

// " [root@2026-11-26T04:01:02]" ends the first line of a reason.
std::string_view without_author(std::string_view line) {
  const auto open = line.rfind(" [");
  if (open == line.npos || !line.ends_with(']')) return line;
  return line.find('@', open) == line.npos ? line : line.substr(0, open);
}

// The value of a field that stands among others on a line.
std::optional<std::string_view> field(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != line.npos; at = line.find(key, at + 1)) {
    if (at != 0 && line[at - 1] != ' ') continue;
    const auto value = line.substr(at + key.size());
    return value.substr(0, value.find(' '));
  }
  return std::nullopt;
}

// Further lines of a reason are indented more than the fields, which begin with a capital word and
// an equals sign.
bool is_more_of_reason(std::string_view line) {
  constexpr std::string_view kIndent = "          ";
  return line.starts_with(kIndent);
}

}  // namespace

bool Node::is(std::string_view state) const {
  return std::ranges::find(states, state) != states.end();
}

bool Node::drained() const { return any(*this, Means::drained); }

Result<Node> parse_node(std::string_view text, std::string_view name) {
  std::optional<Node> node;
  bool in_reason = false;
  for (const std::string_view line : lines(text)) {
    if (const auto found = after_prefix(line, "NodeName=")) {
      if (node) break;  // the next node's
      if (found->substr(0, found->find(' ')) == name) node = Node{.name = std::string(name)};
      continue;
    }
    if (!node) continue;
    if (in_reason && is_more_of_reason(line)) {
      node->reason += '\n';
      node->reason += trim(line);
      continue;
    }
    in_reason = false;
    const auto content = trim(line);
    if (const auto reason = after_prefix(content, "Reason=")) {
      node->reason = without_author(*reason);
      in_reason = true;
    } else if (node->states.empty()) {
      if (const auto states = field(content, "State=")) node->states = states_of(*states);
    }
  }
  if (!node)
    return fail(ErrorKind::not_found,
                fmt::format("scontrol shows no node {}; --node names it as slurm.conf does",
                            printable(name)));
  if (node->states.empty())
    return fail(ErrorKind::io, fmt::format("scontrol shows no State= of node {}", printable(name)));
  if (node->reason == "(null)") node->reason.clear();
  return *std::move(node);
}

std::optional<std::string> held_by_others(const Node& node) {
  for (const std::string& name : node.states)
    if (const State* state = known(name); state != nullptr && state->means == Means::apart)
      return name;
  return std::nullopt;
}

bool can_resume(const Node& node) {
  return node.drained() && std::ranges::all_of(node.states, [](const std::string& name) {
           const State* state = known(name);
           return state != nullptr && state->means != Means::apart;
         });
}

}  // namespace gpuready::slurm
