// `fleet merge` for people: terminal, Markdown, HTML.
#pragma once

#include <string>

#include "fleet/fleet.h"
#include "report/report.h"
#include "report/summary.h"

namespace gpuready {

std::string conclusion_of(const fleet::Fleet& fleet);
std::string render_terminal(const fleet::Fleet& fleet, const TerminalStyle& style);
std::string render_markdown(const fleet::Fleet& fleet, const Envelope& envelope);
std::string render_html(const fleet::Fleet& fleet, const Envelope& envelope);

// What the forms share.
Tone tone_of(fleet::NodeState state);
Tone tone_of(const fleet::Fleet& fleet);
std::string action_text(Action action);  // "reset gpu"; empty: none
// Nodes of one state, action and reason, as one line.
struct NodeGroup {
  fleet::NodeState state;
  Action action;
  std::string nodes, reason;  // "n[01-03,07]"
  std::size_t count = 0;
};
std::vector<NodeGroup> groups_of(const fleet::Fleet& fleet);
std::string difference_text(const fleet::Difference& difference);
std::string slow_text(const fleet::Slow& slow);
std::string change_text(const fleet::Change& change);
std::string repair_text(const fleet::Repair& repair);

}  // namespace gpuready
