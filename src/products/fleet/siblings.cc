// The odd one out. Texts: a value that at least two thirds of the siblings share is the usual one.
// Numbers: the limit is learned from the siblings, the median less six standard deviations (from
// the median absolute deviation, which the odd ones do not pull along), and less at least 3%.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/statistics.h"
#include "fleet/fleet.h"
#include "fleet/node_facts.h"
#include "report/text_layout.h"

namespace gpuready::fleet {
namespace {

constexpr std::size_t kFewestNodes = 3, kFewestValues = 5;
constexpr double kOfNormal = 1.4826;  // of a normal distribution: deviation / MAD

using Reports = std::vector<const NodeReport*>;

// A node counts once for each value, however many of its GPUs have it.
struct Fact {
  std::map<std::string, std::vector<std::string>> nodes_by_value;
  std::size_t compared = 0;  // nodes
  const NodeReport* latest = nullptr;
};

void add_differences(const std::string& siblings, const Reports& group, Fleet& out) {
  std::map<std::string_view, Fact> facts;
  std::vector<std::string_view> order;
  for (const NodeReport* report : group)
    for (const NodeFact& each : report->facts) {
      const auto [place, fresh] = facts.try_emplace(each.name);
      if (fresh) order.push_back(each.name);
      Fact& fact = place->second;
      if (std::exchange(fact.latest, report) != report) ++fact.compared;
      auto& nodes = fact.nodes_by_value[each.value];
      if (nodes.empty() || nodes.back() != report->name) nodes.push_back(report->name);
    }
  for (const std::string_view name : order) {
    const auto& [values, compared, latest] = facts[name];
    const auto usual =
        std::ranges::max_element(values, {}, [](const auto& value) { return value.second.size(); });
    if (values.size() < 2 || compared < kFewestNodes || 3 * usual->second.size() < 2 * compared)
      continue;
    for (const auto& [value, nodes] : values)
      if (value != usual->first)
        out.differences.push_back({.siblings = siblings,
                                   .fact = std::string(name),
                                   .value = value,
                                   .usual = usual->first,
                                   .nodes = nodes,
                                   .usual_nodes = usual->second.size(),
                                   .compared_nodes = compared});
  }
}

void add_slow(const std::string& siblings, const Reports& group, Fleet& out) {
  struct Value {
    const NodeReport* report;
    const NodeRate* rate;
  };
  std::map<std::pair<std::string_view, std::string_view>, std::vector<Value>> rates;
  for (const NodeReport* report : group)
    for (const NodeRate& rate : report->rates)
      rates[{rate.name, rate.unit}].push_back({report, &rate});
  for (const auto& [key, values] : rates) {
    if (values.size() < kFewestValues) continue;
    std::vector<double> all, far;
    for (const Value& value : values) all.push_back(value.rate->value);
    const double middle = median(all);
    for (const double value : all) far.push_back(std::abs(value - middle));
    const double limit = slow_below(middle, kOfNormal * median(far));
    for (const Value& value : values)
      if (value.rate->value < limit)
        out.slow.push_back({.siblings = siblings,
                            .node = value.report->name,
                            .gpu = value.rate->gpu,
                            .what = std::string(key.first),
                            .unit = std::string(key.second),
                            .value = value.rate->value,
                            .median = middle,
                            .limit = limit,
                            .compared = values.size()});
  }
}

// A node with fewer GPUs than most of its siblings has lost some, which it cannot know by itself.
void find_lost_gpus(const Reports& group, Fleet& out) {
  std::map<std::size_t, std::size_t> nodes_by_count;
  for (const NodeReport* report : group) ++nodes_by_count[report->gpus];
  for (const NodeReport* report : group) {
    std::size_t with_more = 0;
    for (const auto& [count, nodes] : nodes_by_count) with_more += count > report->gpus ? nodes : 0;
    if (2 * with_more <= group.size() - 1) continue;
    const auto node = std::ranges::find(out.nodes, report->name, &Node::name);
    if (node->state == NodeState::bad || node->state == NodeState::absent) continue;
    node->state = NodeState::bad;
    node->action = std::max(node->action, Action::power_cycle);
    node->reason = fmt::format("It has {}; {} of its {} siblings have more.",
                               counted(report->gpus, "GPU"), with_more, group.size() - 1);
  }
}

}  // namespace

double slow_below(double usual, double standard_deviation) {
  constexpr double kDeviations = 6, kLeastShare = 0.03;
  return usual - std::max(kDeviations * standard_deviation, kLeastShare * usual);
}

void compare_siblings(const Reports& reports, Fleet& out) {
  // A node that lost all of its GPUs belongs to the only model of its product, if there is one.
  std::map<std::string, std::string> model_of;
  for (const NodeReport* report : reports) {
    if (report->model.empty()) continue;
    const auto [known, fresh] = model_of.try_emplace(report->product, report->model);
    if (!fresh && known->second != report->model) known->second.clear();
  }
  std::map<std::string, Reports> groups;
  for (const NodeReport* report : reports) {
    const std::string& model = report->model.empty() ? model_of[report->product] : report->model;
    if (model.empty() || (report->model.empty() && report->product.empty())) continue;
    groups[report->product.empty() ? model : report->product + ", " + model].push_back(report);
  }
  for (const auto& [siblings, group] : groups) {
    add_differences(siblings, group, out);
    add_slow(siblings, group, out);
    find_lost_gpus(group, out);
  }
}

}  // namespace gpuready::fleet
