#include <fmt/format.h>

#include "base/nodes/hostlist.h"
#include "fleet/report/fleet_report.h"
#include "report/html/html_parts.h"

namespace gpuready {
namespace {

using fleet::Fleet;

std::string row(std::initializer_list<std::string> cells) {
  std::string out = "<tr>";
  for (const std::string& cell : cells) out += "<td>" + cell + "</td>";
  return out + "</tr>\n";
}

std::string table(std::string_view title, std::initializer_list<std::string_view> heads,
                  const std::string& rows) {
  if (rows.empty()) return {};
  std::string out =
      fmt::format("<section><h2>{}</h2>\n<div class=\"card scroll\"><table>\n<thead><tr>", title);
  for (const auto head : heads) out += fmt::format("<th scope=\"col\">{}</th>", head);
  return out + "</tr></thead>\n<tbody>" + rows + "</tbody></table></div></section>\n";
}

std::string node_rows(const Fleet& fleet) {
  std::string rows;
  for (const NodeGroup& group : groups_of(fleet))
    rows +=
        row({html_pill(tone_of(group.state), words_of(group.state)), escape_html(group.nodes),
             std::to_string(group.count), action_text(group.action), escape_html(group.reason)});
  return rows;
}

std::string cause_rows(const Fleet& fleet) {
  std::string rows;
  for (const auto& cause : fleet.causes)
    rows += row({html_pill(tone_of(cause.severity), cause.id), escape_html(cause.title),
                 escape_html(fold_hostlist(cause.nodes)), escape_html(cause.cure)});
  return rows;
}

std::string slow_rows(const Fleet& fleet) {
  std::string rows;
  for (const auto& s : fleet.slow)
    rows += row({escape_html(s.node) + (s.gpu < 0 ? "" : fmt::format(" GPU {}", s.gpu)),
                 escape_html(s.what), escape_html(quantity_text(s.value, s.unit)),
                 escape_html(quantity_text(s.median, s.unit)),
                 escape_html(quantity_text(s.limit, s.unit)), std::to_string(s.compared)});
  return rows;
}

std::string difference_rows(const Fleet& fleet) {
  std::string rows;
  for (const auto& d : fleet.differences)
    rows += row({escape_html(d.fact), escape_html(d.value), escape_html(fold_hostlist(d.nodes)),
                 escape_html(d.usual), fmt::format("{} of {}", d.usual_nodes, d.compared_nodes)});
  return rows;
}

// Items as a list, each by its text.
std::string list(std::string_view title, const auto& items, auto text) {
  if (items.empty()) return {};
  std::string out = fmt::format("<section><h2>{}</h2>\n<div class=\"card\"><ul>", title);
  for (const auto& item : items) out += "<li>" + escape_html(text(item)) + "</li>\n";
  return out + "</ul></div></section>\n";
}

}  // namespace

std::string render_html(const Fleet& fleet, const Envelope& envelope) {
  return html_page(
      envelope, tone_of(fleet),
      table("Nodes", {"state", "nodes", "how many", "action", "why"}, node_rows(fleet)) +
          table("Causes", {"id", "what is wrong", "nodes", "cure"}, cause_rows(fleet)) +
          table("Slower than their siblings",
                {"GPU or node", "what", "value", "median", "limit", "compared"}, slow_rows(fleet)) +
          table("Different from their siblings", {"what", "value", "nodes", "usual", "have it"},
                difference_rows(fleet)) +
          list("Repairs", fleet.repairs, repair_text) +
          list("Changes since the reports before", fleet.changes, change_text) +
          list("Notes", fleet.notes, [](const std::string& note) { return note; }));
}

}  // namespace gpuready
