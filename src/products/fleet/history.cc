#include "fleet/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/clock.h"
#include "base/text.h"
#include "fleet/node_facts.h"
#include "report/text_layout.h"

namespace gpuready::fleet {

const Database::Form kHistoryForm = {
    .tables = R"(
CREATE TABLE nodes (node TEXT PRIMARY KEY, reported INTEGER, gpus TEXT, bad_since INTEGER,
                    bad_reason TEXT, ready_at INTEGER);
CREATE TABLE facts (node TEXT, fact TEXT, gpu INTEGER, value TEXT,
                    PRIMARY KEY (node, fact, gpu)) WITHOUT ROWID;
CREATE TABLE rates (node TEXT, rate TEXT, gpu INTEGER, count INTEGER, mean REAL, spread REAL,
                    PRIMARY KEY (node, rate, gpu)) WITHOUT ROWID;
)",
    .version = 2,
    .cure = "Move it away: a new history begins",
};

namespace {

// A rate is compared once it was measured this often. Its mean and mean deviation are those of
// about the last kWeighed values.
constexpr std::int64_t kFewest = 5, kWeighed = 16;
constexpr double kOfNormal = 1.2533;  // of a normal distribution: deviation / mean deviation

struct Known {
  std::int64_t reported = 0, bad_since = 0, ready_at = 0;
  std::string gpus, bad_reason;
};

Result<std::optional<Known>> known_of(const Database& history, const std::string& node) {
  auto query = history.prepare(
      "SELECT reported, bad_since, gpus, bad_reason, ready_at FROM nodes WHERE node = ?");
  if (!TRY(query.bind(node).step())) return std::nullopt;
  return Known{.reported = query.integer(0),
               .bad_since = query.integer(1),
               .ready_at = query.integer(4),
               .gpus = query.text(2),
               .bad_reason = query.text(3)};
}

// Bad until a test has passed that is newer than all that is known of the node.
void judge_repair(const Known& known, const NodeReport& report, Node& node, Fleet& out) {
  if (known.bad_since == 0 || node.state == NodeState::bad || node.state == NodeState::absent)
    return;
  const bool proven =
      node.state == NodeState::ready && report.created_unix_seconds > known.reported;
  out.repairs.push_back(
      {.node = node.name,
       .bad_since_unix_seconds = known.bad_since,
       .reason = known.bad_reason,
       .proven = proven,
       .tested_unix_seconds = proven ? std::optional(report.created_unix_seconds) : std::nullopt});
  if (proven) return;
  set_unproven(node, known.bad_since, known.bad_reason);
}

Result<void> keep(const Database& history, const std::string& node, const Known& known) {
  return history.prepare("INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?, ?, ?)")
      .bind(node)
      .bind(known.reported)
      .bind(known.gpus)
      .bind(known.bad_since)
      .bind(known.bad_reason)
      .bind(known.ready_at)
      .run();
}

void take_bad(std::int64_t when, const std::string& reason, Known& known) {
  if (when < known.ready_at) return;
  if (known.bad_since == 0) known.bad_since = when;
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

Result<void> take_facts(const Database& history, const NodeReport& report, Node& node, Fleet& out) {
  auto query = history.prepare("SELECT fact, gpu, value FROM facts WHERE node = ?");
  query.bind(report.name);
  std::map<std::pair<std::string, std::int64_t>, std::string> before;
  while (TRY(query.step())) before[{query.text(0), query.integer(1)}] = query.text(2);
  auto insert = history.prepare("INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?)");
  for (const NodeFact& fact : report.facts) {
    const auto old = before.find({std::string(fact.name), fact.gpu});
    if (old != before.end()) {
      if (old->second == fact.value) continue;
      out.changes.push_back({.node = report.name,
                             .gpu = fact.gpu,
                             .what = std::string(fact.name),
                             .before = old->second,
                             .after = fact.value});
      if (fact.name == kGpuCount && lost_gpus(report, old->second, node)) continue;
    }
    TRY(insert.bind(report.name)
            .bind(fact.name)
            .bind(std::int64_t{fact.gpu})
            .bind(fact.value)
            .run());
  }
  return {};
}

Result<void> take_rates(const Database& history, const NodeReport& report, Fleet& out) {
  auto query = history.prepare("SELECT rate, gpu, count, mean, spread FROM rates WHERE node = ?");
  query.bind(report.name);
  struct Usual {
    std::int64_t count;
    double mean, spread;
  };
  std::map<std::pair<std::string, std::int64_t>, Usual> before;
  while (TRY(query.step()))
    before[{query.text(0), query.integer(1)}] = {query.integer(2), query.number(3),
                                                 query.number(4)};
  auto insert = history.prepare("INSERT OR REPLACE INTO rates VALUES (?, ?, ?, ?, ?, ?)");
  for (const NodeRate& rate : report.rates) {
    Usual usual{0, rate.value, 0};
    if (const auto found = before.find({rate.name, rate.gpu}); found != before.end())
      usual = found->second;
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
                          .compared = static_cast<std::size_t>(usual.count)});
      continue;
    }
    usual.count = std::min(usual.count + 1, kWeighed);
    const double weight = 1.0 / static_cast<double>(usual.count);
    usual.spread += weight * (std::abs(rate.value - usual.mean) - usual.spread);
    usual.mean += weight * (rate.value - usual.mean);
    TRY(insert.bind(report.name)
            .bind(rate.name)
            .bind(std::int64_t{rate.gpu})
            .bind(usual.count)
            .bind(usual.mean)
            .bind(usual.spread)
            .run());
  }
  return {};
}

Result<void> take_in(const Database& history, const NodeReport& report, Node& node, Fleet& out) {
  Known known = TRY(known_of(history, node.name)).value_or(Known{});
  judge_repair(known, report, node, out);
  if (report.created_unix_seconds <= known.reported) {
    if (node.state == NodeState::bad) take_bad(report.created_unix_seconds, node.reason, known);
    return keep(history, node.name, known);
  }
  const std::string gpus = join(report.gpu_ids, " ");
  if (!known.gpus.empty() && known.gpus != gpus) {
    out.changes.push_back({.node = node.name,
                           .gpu = -1,
                           .what = "GPUs by UUID",
                           .before = known.gpus,
                           .after = gpus});
    // Other GPUs have other rates.
    TRY(history.prepare("DELETE FROM rates WHERE node = ?").bind(node.name).run());
  }
  TRY(take_facts(history, report, node, out));
  if (node.state == NodeState::ready) {
    known.bad_since = 0;
    known.ready_at = report.created_unix_seconds;
  }
  if (node.state == NodeState::bad) take_bad(report.created_unix_seconds, node.reason, known);
  known.reported = report.created_unix_seconds;
  known.gpus = gpus;
  TRY(keep(history, node.name, known));
  return take_rates(history, report, out);
}

}  // namespace

Result<std::vector<std::string>> known_nodes(const Database& history) {
  auto query = history.prepare("SELECT node FROM nodes ORDER BY node");
  std::vector<std::string> nodes;
  while (TRY(query.step())) nodes.push_back(query.text(0));
  return nodes;
}

Result<void> compare_with_history(const Database& history,
                                  const std::vector<const NodeReport*>& reports,
                                  const std::vector<EarlierFailure>& failed, Fleet& out) {
  TRY(history.execute("BEGIN"));
  for (const auto& [report, reason] : failed) {
    Known known = TRY(known_of(history, report->name)).value_or(Known{});
    take_bad(report->created_unix_seconds, reason, known);
    TRY(keep(history, report->name, known));
  }
  std::map<std::string_view, Node*> nodes;
  for (Node& node : out.nodes) nodes[node.name] = &node;
  for (const NodeReport* report : reports)
    TRY(take_in(history, *report, *nodes.at(report->name), out));
  return history.execute("COMMIT");
}

Result<bool> forget(const Database& history, const std::string& node) {
  const bool known = TRY(known_of(history, node)).has_value();
  for (const char* text : {"DELETE FROM rates WHERE node = ?", "DELETE FROM facts WHERE node = ?",
                           "DELETE FROM nodes WHERE node = ?"})
    TRY(history.prepare(text).bind(node).run());
  return known;
}

}  // namespace gpuready::fleet
