#include "fleet/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "fleet/node_facts.h"
#include "report/text_layout.h"
#include "value/document.h"
#include "value/fields.h"

namespace gpuready::fleet {

// Of lines, which only this file reads and writes.
FIELDS_OF(UsualRate) {
  FIELD(count, "Of the values that the mean is of.");
  FIELD(mean, "Of these.", kAlways);
  FIELD(spread, "Their mean deviation.", kAlways);
}
FIELDS_OF(KnownNode) {
  FIELD(node, "Its name.", kAlways);
  FIELD(reported_unix_seconds, "When its latest report was made.", {.sparse = true});
  FIELD(bad_since_unix_seconds, "Absent: it is not bad.", {.sparse = true});
  FIELD(bad_reason, "Why it is bad.");
  FIELD(ready_unix_seconds, "When a test last passed.", {.sparse = true});
  FIELD(gpus, "Their UUIDs.");
  FIELD(facts, "By name and GPU; -1: of the node.");
  FIELD(rates, "Likewise.");
}

namespace {

// Of the first line, which says besides how many follow.
constexpr DocumentForm kHistoryForm{.name = "fleet-history"};

// A rate is compared once it was measured this often. Its mean and mean deviation are those of
// about the last kWeighed values.
constexpr std::uint64_t kFewest = 5, kWeighed = 16;
constexpr std::size_t kMostRates = 1000;  // of a node, by name: a report may invent any
constexpr double kOfNormal = 1.2533;      // of a normal distribution: deviation / mean deviation

// Of a name and a GPU; null: none.
template <class T>
const T* found(const std::map<std::string, std::map<int, T>>& all, const std::string& name,
               int gpu) {
  const auto named = all.find(name);
  if (named == all.end()) return nullptr;
  const auto value = named->second.find(gpu);
  return value == named->second.end() ? nullptr : &value->second;
}

// Bad until a test has passed that is newer than all that is known of the node.
void judge_repair(const KnownNode& known, const NodeReport& report, Node& node, Fleet& out) {
  if (known.bad_since_unix_seconds == 0 || node.state == NodeState::bad ||
      node.state == NodeState::absent)
    return;
  const bool proven =
      node.state == NodeState::ready && report.created_unix_seconds > known.reported_unix_seconds;
  out.repairs.push_back(
      {.node = node.name,
       .bad_since_unix_seconds = known.bad_since_unix_seconds,
       .reason = known.bad_reason,
       .proven = proven,
       .tested_unix_seconds = proven ? std::optional(report.created_unix_seconds) : std::nullopt});
  if (proven) return;
  set_unproven(node, known.bad_since_unix_seconds, known.bad_reason);
}

void take_bad(std::int64_t when, const std::string& reason, KnownNode& known) {
  if (when < known.ready_unix_seconds) return;
  if (known.bad_since_unix_seconds == 0) known.bad_since_unix_seconds = when;
  known.bad_reason = reason;
}

// A node with fewer GPUs than before is bad: the count from before stays in the history.
bool lost_gpus(const NodeReport& report, const std::string& before, Node& node) {
  const auto had = parse_uint(before).value_or(0);
  if (report.gpus >= had) return false;
  if (node.state != NodeState::bad) {
    node.action = std::max(node.action, Action::power_cycle);
    node.reason = fmt::format("It has {}, and had {} before. If that is meant: --forget {}",
                              counted(report.gpus, "GPU"), had, node.name);
  }
  node.state = NodeState::bad;
  return true;
}

void take_facts(const NodeReport& report, KnownNode& known, Node& node, Fleet& out) {
  const auto before = known.facts;
  for (const NodeFact& fact : report.facts) {
    const std::string name(fact.name);
    if (const auto* old = found(before, name, fact.gpu)) {
      if (*old == fact.value) continue;
      out.changes.push_back({.node = report.name,
                             .gpu = fact.gpu,
                             .what = name,
                             .before = *old,
                             .after = fact.value});
      if (name == kGpuCount && lost_gpus(report, *old, node)) continue;
    }
    known.facts[name][fact.gpu] = fact.value;
  }
}

void take_rates(const NodeReport& report, KnownNode& known, Fleet& out) {
  const auto before = known.rates;
  for (const NodeRate& rate : report.rates) {
    const auto* old = found(before, rate.name, rate.gpu);
    if (old == nullptr && known.rates.size() >= kMostRates) continue;
    UsualRate usual =
        old != nullptr ? *old : UsualRate{.count = 0, .mean = rate.value, .spread = 0};
    const double limit = slow_below(usual.mean, kOfNormal * usual.spread);
    if (usual.count >= kFewest && rate.value < limit) {
      // What is slow now does not become the usual.
      out.slow.push_back({.siblings = "its own history",
                          .node = report.name,
                          .gpu = rate.gpu,
                          .what = rate.name,
                          .unit = rate.unit,
                          .value = rate.value,
                          .median = usual.mean,
                          .limit = limit,
                          .compared = usual.count});
      continue;
    }
    usual.count = std::min(usual.count + 1, kWeighed);
    const double weight = 1.0 / static_cast<double>(usual.count);
    usual.spread += weight * (std::abs(rate.value - usual.mean) - usual.spread);
    usual.mean += weight * (rate.value - usual.mean);
    if (std::isfinite(usual.mean) && std::isfinite(usual.spread))  // else no number in JSON
      known.rates[rate.name][rate.gpu] = usual;
  }
}

void take_in(History& history, const NodeReport& report, Node& node, Fleet& out) {
  KnownNode known = history.of(node.name);
  judge_repair(known, report, node, out);
  const bool is_newer = report.created_unix_seconds > known.reported_unix_seconds;
  if (is_newer) {
    const std::string gpus = join(report.gpu_ids, " ");
    if (!known.gpus.empty() && known.gpus != gpus) {
      out.changes.push_back({.node = node.name,
                             .gpu = -1,
                             .what = "GPUs by UUID",
                             .before = known.gpus,
                             .after = gpus});
      known.rates.clear();  // other GPUs have other rates
    }
    take_facts(report, known, node, out);
    if (node.state == NodeState::ready) {
      known.bad_since_unix_seconds = 0;
      known.ready_unix_seconds = report.created_unix_seconds;
    }
    known.reported_unix_seconds = report.created_unix_seconds;
    known.gpus = gpus;
  }
  if (node.state == NodeState::bad) take_bad(report.created_unix_seconds, node.reason, known);
  if (is_newer) take_rates(report, known, out);
  history.keep(known);
}

}  // namespace

Result<History> History::read(std::string_view text, const std::string& name) {
  History history;
  if (text.empty()) return history;
  const auto refused = [&](const std::string& why) {
    return fail(ErrorKind::bad_input,
                fmt::format("{} is not the history of a fleet: {}. Move it away: a new history "
                            "begins",
                            name, why));
  };
  const auto all = lines(text);
  const auto head = parse_json(all.front(), "its first line");
  if (!head) return refused(head.error().message);
  if (!value::is_document(*head, kHistoryForm))
    return refused("its first line is of something else");
  for (std::size_t i = 1; i < all.size(); ++i) {
    const std::string line = fmt::format("line {}", i + 1);
    const auto doc = parse_json(all[i], line, all[i].size());
    const auto node =
        doc ? value::read_document<KnownNode>(*doc, line) : std::unexpected(doc.error());
    if (!node) return refused(node.error().message);
    if (!history.lines_.emplace(node->node, all[i]).second)
      return refused(fmt::format("{} repeats a node", line));
  }
  if (get_uint(*head, "nodes") != all.size() - 1)
    return refused(fmt::format("it holds {}, and {} are announced", counted(all.size() - 1, "node"),
                               get_uint(*head, "nodes").value_or(0)));
  return history;
}

std::string History::text() const {
  Json head = value::begin_document(kHistoryForm);
  head["nodes"] = lines_.size();
  std::string text = dump_line(head) + "\n";
  for (const auto& [node, line] : lines_) text += line + "\n";
  return text;
}

std::vector<std::string> History::nodes() const {
  std::vector<std::string> names;
  for (const auto& [node, line] : lines_) names.push_back(node);
  return names;
}

KnownNode History::of(const std::string& node) const {
  const auto line = lines_.find(node);
  if (line == lines_.end()) {
    KnownNode fresh;
    fresh.node = node;
    return fresh;
  }
  return *value::read_document<KnownNode>(*parse_json(line->second, node, line->second.size()),
                                          node);
}

void History::keep(const KnownNode& node) {
  lines_[node.node] = dump_line(value::write(node, {}, 0));
}

void compare_with_history(History& history, const std::vector<const NodeReport*>& reports,
                          const std::vector<EarlierFailure>& failed, Fleet& out) {
  for (const auto& [report, reason] : failed) {
    KnownNode known = history.of(report->name);
    take_bad(report->created_unix_seconds, reason, known);
    history.keep(known);
  }
  std::map<std::string_view, Node*> nodes;
  for (Node& node : out.nodes) nodes[node.name] = &node;
  for (const NodeReport* report : reports) take_in(history, *report, *nodes.at(report->name), out);
}

}  // namespace gpuready::fleet
