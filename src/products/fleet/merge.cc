#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "fleet/history.h"
#include "report/text_layout.h"

namespace gpuready::fleet {
namespace {

constexpr std::int64_t kClockError = 5 * 60;  // seconds that clocks of nodes may differ
constexpr std::size_t kMostNotes = 20;

std::string age_text(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60, kHour = 3600, kDay = 86400;
  if (seconds < kHour) return fmt::format("{} min", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("{} h", seconds / kHour);
  return fmt::format("{} days", seconds / kDay);
}

// Why a report says nothing about the node now; empty: it counts.
std::string not_counted(const NodeReport& report, const MergeOptions& options) {
  const std::int64_t age = options.now_unix_seconds - report.created_unix_seconds;
  if (age > options.valid_seconds) return "The latest report is " + age_text(age) + " old.";
  if (age < -kClockError)
    return fmt::format("Its clock is {} ahead, so the age of its report is not known.",
                       age_text(-age));
  return {};
}

const NodeCause* worst_of(const NodeReport& report) {
  const NodeCause* worst = nullptr;
  for (const NodeCause& cause : report.causes)
    if (worst == nullptr ||
        std::tie(cause.severity, cause.action) > std::tie(worst->severity, worst->action))
      worst = &cause;
  return worst;
}

// Whatever its exit code says.
bool shows_an_error(const NodeReport& report) {
  return report.bad_gpu ||
         std::ranges::count(report.causes, Severity::error, &NodeCause::severity) > 0;
}

NodeState state_of(const NodeReport& report) {
  if (shows_an_error(report)) return NodeState::bad;
  switch (report.exit) {
    case Exit::ok:
      if (report.gpus == 0) return NodeState::no_gpu;
      return report.tested && report.gpu_reason.empty() ? NodeState::ready : NodeState::not_tested;
    case Exit::unhealthy:
      return NodeState::bad;
    case Exit::required_absent:
      return NodeState::absent;
    case Exit::usage:
    case Exit::unknown:
    case Exit::interrupted:
      return NodeState::unknown;
  }
  return NodeState::unknown;
}

std::string reason_of(const NodeReport& report, NodeState state) {
  if (state == NodeState::ready) return {};
  if (state == NodeState::no_gpu) return "It has no GPU.";
  const NodeCause* worst = worst_of(report);
  if (state == NodeState::bad && worst != nullptr && worst->severity == Severity::error)
    return cut(worst->place + worst->title, kMostText);
  const std::string why = !report.gpu_reason.empty()                         ? report.gpu_reason
                          : state == NodeState::not_tested && !report.tested ? "Not tested."
                                                                             : report.conclusion;
  // An action without its cause misleads.
  const auto cause = std::ranges::find(report.causes, report.action, &NodeCause::action);
  if (report.action == Action::none || cause == report.causes.end() || contains(why, cause->title))
    return why;
  return cut(fmt::format("{}{}. {}", cause->place, cause->title, why), kMostText);
}

bool share_a_gpu(const NodeReport& a, const NodeReport& b) {
  return std::ranges::any_of(
      a.gpu_ids, [&](const std::string& id) { return std::ranges::binary_search(b.gpu_ids, id); });
}

// Why the reports of one node cannot be of one machine; empty: they can.
std::string of_several_machines(const std::vector<const NodeReport*>& reports) {
  std::set<std::string> machines;
  for (const NodeReport* one : reports)
    if (!one->machine_id.empty()) machines.insert(one->machine_id);
  if (machines.size() > 1)
    return fmt::format("{} machines report under this name.", machines.size());
  const auto has_gpus = [](const NodeReport* one) { return !one->gpu_ids.empty(); };
  const auto first = std::ranges::find_if(reports, has_gpus);
  for (const NodeReport* one : reports)
    if (has_gpus(one) && !share_a_gpu(**first, *one))
      return "Reports under this name have different GPUs: of several machines, of tasks with a "
             "part of the GPUs each, or of before a repair. Give one report of the whole node.";
  return {};
}

// The latest report that shows an error, if no later one shows that a test has passed.
const NodeReport* not_repaired(const std::vector<const NodeReport*>& newest_first) {
  for (const NodeReport* one : newest_first) {
    if (state_of(*one) == NodeState::ready) return nullptr;
    if (state_of(*one) == NodeState::bad) return one;
  }
  return nullptr;
}

// The latest report. Of reports that were made at the same time, such as one by each task of a
// step, the worst: none of them is newer than the others.
const NodeReport& counting(const std::vector<const NodeReport*>& newest_first,
                           std::vector<std::string>& notes) {
  const NodeReport& latest = *newest_first.front();
  const NodeReport* worst = &latest;
  const auto urgency = [](const NodeReport& one) { return std::tuple(state_of(one), one.action); };
  std::size_t together = 0, alike = 0;
  for (const NodeReport* one : newest_first) {
    if (one->created_unix_seconds + one->duration_seconds < latest.created_unix_seconds) continue;
    ++together;
    alike += state_of(*one) == state_of(latest);
    if (urgency(*one) > urgency(*worst)) worst = one;
  }
  if (alike < together)
    notes.push_back(
        fmt::format("{} gave {} reports at the same time, and the worst counts. Run gpuready once "
                    "on each node.",
                    worst->name, together));
  return *worst;
}

// A GPU is in one machine: reports under two names that have it are not both true. One of them is,
// so an error counts.
void find_shared_gpus(std::vector<const NodeReport*>& counted, std::set<std::string>& doubted_names,
                      Fleet& out) {
  std::map<std::string_view, const NodeReport*> owners;
  std::map<std::string_view, std::string> doubted;
  for (const NodeReport* report : counted)
    for (const std::string& id : report->gpu_ids)
      if (const auto [owner, fresh] = owners.emplace(id, report); !fresh) {
        doubted[report->name] = owner->second->name;
        doubted[owner->second->name] = report->name;
      }
  for (Node& node : out.nodes)
    if (const auto other = doubted.find(node.name); other != doubted.end()) {
      const std::string reason = fmt::format("reports the same GPU as {}.", other->second);
      if (node.state > NodeState::unknown) {
        out.notes.push_back(fmt::format("{} {}", node.name, reason));
        doubted_names.insert(node.name);
      } else {
        node.state = NodeState::unknown;
        node.reason = "It " + reason;
        std::erase_if(counted, [&](const NodeReport* one) { return one->name == node.name; });
      }
    }
}

}  // namespace

void set_unproven(Node& node, std::int64_t bad_since, const std::string& reason) {
  node.state = NodeState::unknown;
  node.action = std::max(node.action, Action::check_again);
  node.reason = fmt::format("It was bad on {} and no test has passed since: {}",
                            format_utc(bad_since).substr(0, 10), reason);
}

std::size_t Fleet::count(NodeState state) const {
  return static_cast<std::size_t>(std::ranges::count(nodes, state, &Node::state));
}

Fleet merge(const std::vector<NodeReport>& reports, const MergeOptions& options, History* history) {
  Fleet out;
  out.notes = options.faults;
  out.unread = options.faults.size();
  std::map<std::string, std::vector<const NodeReport*>> by_node;
  for (const NodeReport& report : reports) by_node[report.name].push_back(&report);
  for (const std::string& name : options.expected) by_node[name];
  if (history != nullptr)
    for (const std::string& name : history->nodes()) by_node[name];

  std::vector<const NodeReport*> counted;
  std::vector<EarlierFailure> failed;
  std::set<std::string> doubted;  // names of bad nodes whose reports may be of another machine
  for (auto& [name, all] : by_node) {
    Node& node = out.nodes.emplace_back();
    node.name = name;
    if (all.empty()) {
      node.reason = "It did not report.";
      continue;
    }
    std::ranges::stable_sort(all, std::greater(), &NodeReport::created_unix_seconds);
    const std::string silent = not_counted(*all.front(), options);
    std::erase_if(all, [&](const NodeReport* one) {
      return one != all.front() && !not_counted(*one, options).empty();
    });
    const NodeReport& report = silent.empty() ? counting(all, out.notes) : *all.front();
    node.model = report.model;
    node.gpus = report.gpus;
    node.machine_id = report.machine_id;
    node.reported_unix_seconds = report.created_unix_seconds;
    node.reason = silent.empty() ? of_several_machines(all) : silent;
    const NodeState state = state_of(report);
    if (!silent.empty()) continue;
    if (!node.reason.empty() && state <= NodeState::unknown) {
      const auto bad = std::ranges::find(all, NodeState::bad,
                                         [](const NodeReport* one) { return state_of(*one); });
      if (bad != all.end())
        node.reason += fmt::format(" An earlier one says: {}", reason_of(**bad, NodeState::bad));
      continue;
    }
    if (!node.reason.empty()) {
      out.notes.push_back(name + ": " + node.reason);
      doubted.insert(name);
    }
    node.state = state;
    node.action = node.state == NodeState::bad && report.action == Action::none
                      ? Action::check_again
                      : report.action;
    node.reason = reason_of(report, node.state);
    const NodeReport* bad = not_repaired(all);
    if (bad != nullptr && node.state != NodeState::bad && node.state != NodeState::absent) {
      failed.push_back({bad, reason_of(*bad, NodeState::bad)});
      set_unproven(node, bad->created_unix_seconds, failed.back().reason);
    }
    counted.push_back(&report);
    if (report.claimed != name && !report.claimed.empty())
      out.notes.push_back(fmt::format("{} calls itself {}.", name, report.claimed));
  }

  find_shared_gpus(counted, doubted, out);

  std::map<std::pair<std::string, Severity>, Cause> causes;
  for (const NodeReport* report : counted)
    for (const NodeCause& found : report->causes) {
      Cause& cause = causes[{found.id, found.severity}];
      if (cause.nodes.empty() || found.action > cause.action) {
        cause.id = found.id;
        cause.title = found.title;
        cause.cure = found.cure;
        cause.severity = found.severity;
        cause.action = found.action;
      }
      if (cause.nodes.empty() || cause.nodes.back() != report->name)
        cause.nodes.push_back(report->name);
      cause.gpus += found.gpus;
    }
  for (auto& [key, cause] : causes) out.causes.push_back(std::move(cause));
  std::ranges::stable_sort(out.causes, [](const Cause& a, const Cause& b) {
    return std::tuple(a.severity, a.action, a.nodes.size()) >
           std::tuple(b.severity, b.action, b.nodes.size());
  });

  // They show a cause, and nothing of siblings or of before.
  for (const NodeReport* one : counted)
    if (doubted.contains(one->name) && state_of(*one) == NodeState::bad)
      failed.push_back({one, reason_of(*one, NodeState::bad)});
  std::erase_if(counted, [&](const NodeReport* one) { return doubted.contains(one->name); });

  compare_siblings(counted, out);
  if (history != nullptr) compare_with_history(*history, counted, failed, out);
  if (out.notes.size() > kMostNotes) {
    out.notes.resize(kMostNotes);
    out.notes.push_back("More was left out.");
  }
  std::ranges::stable_sort(out.nodes, [](const Node& a, const Node& b) {
    return std::tuple(a.state, a.action) > std::tuple(b.state, b.action);
  });
  return out;
}

}  // namespace gpuready::fleet
