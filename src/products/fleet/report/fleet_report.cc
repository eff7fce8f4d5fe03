#include "fleet/report/fleet_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/clock.h"
#include "base/nodes/hostlist.h"
#include "base/text.h"
#include "report/markdown_text.h"
#include "report/terminal/terminal_text.h"
#include "report/text_layout.h"

namespace gpuready {
namespace {

using fleet::Fleet;
using fleet::NodeState;

// In the order of urgency, with the verb of the conclusion.
constexpr std::pair<NodeState, std::string_view> kStates[] = {
    {NodeState::ready, "ready"},           {NodeState::bad, "bad"},
    {NodeState::absent, "absent"},         {NodeState::unknown, "unknown"},
    {NodeState::not_tested, "not tested"}, {NodeState::no_gpu, "without a GPU"},
};

std::string place_of(const std::string& node, int gpu) {
  return gpu < 0 ? node : fmt::format("{} GPU {}", node, gpu);
}

std::string cause_text(const fleet::Cause& cause) {
  return fmt::format("{} ({}): {}", counted(cause.nodes.size(), "node"), fold_hostlist(cause.nodes),
                     cause.title);
}

}  // namespace

std::string action_text(Action action) {
  std::string text(action == Action::none ? "" : to_string(action));
  std::ranges::replace(text, '_', ' ');
  return text;
}

Tone tone_of(NodeState state) {
  switch (state) {
    case NodeState::ready:
      return Tone::good;
    case NodeState::not_tested:
    case NodeState::no_gpu:
      return Tone::neutral;
    case NodeState::unknown:
      return Tone::warn;
    case NodeState::absent:
    case NodeState::bad:
      return Tone::bad;
  }
  return Tone::neutral;
}

Tone tone_of(const Fleet& fleet) {
  return fleet.nodes.empty() ? Tone::warn : tone_of(fleet.nodes.front().state);
}

std::string conclusion_of(const Fleet& fleet) {
  std::vector<std::string> parts;
  for (const auto& [state, text] : kStates)
    if (const auto count = fleet.count(state); count > 0 || state == NodeState::ready)
      parts.push_back(fmt::format("{} {}", count, text));
  if (fleet.unread > 0) parts.push_back(counted(fleet.unread, "report") + " not read");
  return fmt::format("{}: {}.", counted(fleet.nodes.size(), "node"), join(parts, ", "));
}

std::vector<NodeGroup> groups_of(const Fleet& fleet) {
  std::vector<NodeGroup> groups;
  std::map<std::tuple<NodeState, Action, std::string>, std::size_t> places;
  std::vector<std::vector<std::string>> names;
  for (const fleet::Node& node : fleet.nodes) {
    const auto [place, fresh] =
        places.try_emplace({node.state, node.action, node.reason}, groups.size());
    if (fresh) {
      groups.push_back({node.state, node.action, "", node.reason, 0});
      names.emplace_back();
    }
    names[place->second].push_back(node.name);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].nodes = fold_hostlist(names[i]);
    groups[i].count = names[i].size();
  }
  return groups;
}

std::string difference_text(const fleet::Difference& d) {
  return fmt::format("{}: {}: {}; {} of {} siblings: {}", fold_hostlist(d.nodes), d.fact, d.value,
                     d.usual_nodes, d.compared_nodes, d.usual);
}

std::string slow_text(const fleet::Slow& s) {
  return fmt::format("{}: {} {}, {:.1f}% below the usual {} ({} of {}); the limit is {}",
                     place_of(s.node, s.gpu), s.what, quantity_text(s.value, s.unit),
                     100 * (1 - s.value / s.median), quantity_text(s.median, s.unit), s.compared,
                     s.siblings, quantity_text(s.limit, s.unit));
}

std::string change_text(const fleet::Change& c) {
  return fmt::format("{}: {}: {}, before: {}", place_of(c.node, c.gpu), c.what, c.after, c.before);
}

std::string repair_text(const fleet::Repair& r) {
  return fmt::format("{}: bad since {} ({}); {}", r.node, format_utc(r.bad_since_unix_seconds),
                     r.reason,
                     r.proven ? "ready by a test of " + format_utc(*r.tested_unix_seconds)
                              : "no test has passed since");
}

std::string render_terminal(const Fleet& fleet, const TerminalStyle& style) {
  TerminalText text(style);
  for (const NodeGroup& group : groups_of(fleet)) {
    if (group.state == NodeState::ready) continue;
    if (style.quiet && tone_of(group.state) == Tone::neutral) continue;
    std::string line =
        group.nodes + ": " + (group.reason.empty() ? words_of(group.state) : group.reason);
    if (!line.ends_with('.')) line += '.';
    if (group.action != Action::none)
      line += fmt::format(" Action: {}.", action_text(group.action));
    text.paragraph(0, {text.mark(tone_of(group.state)) + " ", ink_of(tone_of(group.state))}, line);
  }
  if (!fleet.causes.empty() && !style.quiet) {
    text.blank();
    text.heading("Causes");
    for (const fleet::Cause& cause : fleet.causes) {
      text.paragraph(2, {text.mark(tone_of(cause.severity)) + " "}, cause_text(cause));
      if (!cause.cure.empty()) text.paragraph(6, {""}, cause.cure, Ink::dim);
    }
  }
  if (!fleet.differences.empty() || !fleet.slow.empty()) {
    text.blank();
    text.heading("Unlike their siblings");
    for (const auto& slow : fleet.slow)
      text.paragraph(2, {text.mark(Tone::warn) + " "}, slow_text(slow));
    for (const auto& difference : fleet.differences)
      text.paragraph(2, {text.mark(Tone::warn) + " "}, difference_text(difference));
  }
  if (!fleet.changes.empty() || !fleet.repairs.empty()) {
    text.blank();
    text.heading("Since the reports before");
    for (const auto& repair : fleet.repairs)
      text.paragraph(2, {text.mark(repair.proven ? Tone::good : Tone::warn) + " "},
                     repair_text(repair));
    for (const auto& change : fleet.changes)
      text.paragraph(2, {text.mark(Tone::neutral) + " "}, change_text(change));
  }
  text.blank();
  for (const auto& note : fleet.notes) text.paragraph(0, {text.mark(Tone::warn) + " "}, note);
  text.blank();
  const Tone tone = tone_of(fleet);
  text.paragraph(0, {text.mark(tone) + " ", ink_of(tone)}, conclusion_of(fleet));
  return text.take();
}

std::string render_markdown(const Fleet& fleet, const Envelope& envelope) {
  std::string text =
      fmt::format("# Fleet\n\n**{}** {}\n", conclusion_of(fleet), envelope.created_utc);
  const auto list = [&](std::string_view title, const auto& items, auto line) {
    if (items.empty()) return;
    text += fmt::format("\n## {}\n\n", title);
    for (const auto& item : items) text += "- " + line(item) + "\n";
  };
  text += "\n| nodes | state | action | why |\n|---|---|---|---|\n";
  for (const NodeGroup& group : groups_of(fleet))
    text +=
        fmt::format("| {} | {} | {} | {} |\n", markdown_text(group.nodes), words_of(group.state),
                    action_text(group.action), markdown_text(group.reason));
  list("Causes", fleet.causes, [](const auto& c) {
    return markdown_text(cause_text(c)) + (c.cure.empty() ? "" : "  \n  " + markdown_text(c.cure));
  });
  list("Slower than their siblings", fleet.slow,
       [](const auto& s) { return markdown_text(slow_text(s)); });
  list("Different from their siblings", fleet.differences,
       [](const auto& d) { return markdown_text(difference_text(d)); });
  list("Repairs", fleet.repairs, [](const auto& r) { return markdown_text(repair_text(r)); });
  list("Changes", fleet.changes, [](const auto& c) { return markdown_text(change_text(c)); });
  list("Notes", fleet.notes, [](const auto& n) { return markdown_text(n); });
  return text;
}

}  // namespace gpuready
