#include "fleet/slow/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gpuready::fleet {
namespace {

SlowPart part_of(FleetPart kind, std::string name, std::string other, const PartState& state) {
  return {.kind = kind,
          .name = std::move(name),
          .other = std::move(other),
          .share = state.share,
          .confidence = 1 / (1 + std::exp(-state.log_odds)),
          .measurements = state.answers};
}

void add_part(SlowFindings& findings, SlowPart part, Standing standing) {
  if (standing == Standing::slow)
    findings.slow.push_back(std::move(part));
  else if (standing == Standing::suspect)
    findings.suspects.push_back(std::move(part));
}

void add_links(SlowFindings& findings, const std::vector<LinkState>& links,
               const std::vector<std::string>& names) {
  for (const LinkState& link : links)
    add_part(findings,
             part_of(FleetPart::link, names[link.pair.first], names[link.pair.second], link),
             link.standing);
}

// Without a topology nodes share uplinks that the search does not know of.
bool shares_the_spine(const SlowSearch& search, const Judgement& state) {
  std::size_t faster = 0, all = 0;
  for (const auto& round : search.rounds)
    for (const PairRate& pair : round)
      if (pair.rate) ++all, faster += *pair.rate > state.usual_rate * (1 + 3 * state.drop);
  return search.map.groups.empty() && 50 * faster > all;
}

}  // namespace

SlowFindings findings_of(const SlowSearch& search) {
  const Judgement state = judge(search);
  const FleetMap& map = search.map;
  SlowFindings findings;
  findings.nodes = static_cast<unsigned>(map.nodes.size());
  findings.groups = static_cast<unsigned>(map.groups.size());
  for (std::size_t i = 0; i < map.nodes.size(); ++i) {
    const PartState& node = state.nodes.parts[i];
    if (node.answers == 0)
      findings.unknown.push_back(map.nodes[i]);
    else if (state.gone[i] && node.standing != Standing::slow)
      findings.left.push_back(map.nodes[i]);
    else
      add_part(findings, part_of(FleetPart::node, map.nodes[i], "", node), node.standing);
  }
  for (std::size_t i = 0; i < map.groups.size(); ++i) {
    const PartState& group = state.groups.parts[i];
    add_part(findings, part_of(FleetPart::group, map.groups[i], "", group), group.standing);
  }
  add_links(findings, state.links, map.nodes);
  add_links(findings, state.groups.links, map.groups);
  std::ranges::stable_sort(findings.slow, {}, &SlowPart::share);

  findings.rounds = static_cast<unsigned>(search.rounds.size());
  for (const auto& round : search.rounds)
    for (const PairRate& pair : round)
      ++(pair.rate ? findings.measured_pairs : findings.failed_pairs);
  if (findings.measured_pairs > 0) {
    findings.usual_rate = state.usual_rate;
    findings.noise = state.noise;
    findings.limit_share = 1 - state.drop;
  }
  findings.across_share = state.across_share;
  if (!next_round(search).empty())
    findings.ended = SearchEnd::interrupted;
  else if (search.rounds.size() >= search.options.most_rounds)
    findings.ended = SearchEnd::most_rounds;
  else if (state.lost_rounds > 0 || state.answered_rounds == 0)
    findings.ended = SearchEnd::no_answers;

  if (findings.across_share && *findings.across_share < 0.97) {
    findings.notes.push_back(fmt::format(
        "When all groups measure across, their pairs reach {:.0f}% of the rate within a group: "
        "they share uplinks or a spine. Groups are compared under the same load.",
        *findings.across_share * 100));
    if (state.groups_at_once + 1 < map.groups.size())
      findings.notes.push_back(
          fmt::format("The spine is too small for all groups: {} of {} measured at the same time.",
                      state.groups_at_once, map.groups.size()));
  }
  if (shares_the_spine(search, state))
    findings.notes.push_back(
        "Some pairs are much faster than usual, so most share a network that is too small for all "
        "of them, and it can hide slow nodes. Give the groups of nodes with --topology.");
  if (map.groups.size() == 1 || map.groups.size() == 2)
    findings.notes.push_back(
        "Groups are compared with each other, which needs three of at least four nodes. Only "
        "nodes and links were judged.");
  return findings;
}

}  // namespace gpuready::fleet
