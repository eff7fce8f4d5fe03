#include "fleet/slow/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

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

FailedPart failed_part(const FailingPart& part, const std::vector<std::string>& names) {
  FailedPart named{.kind = part.other ? FleetPart::link : FleetPart::node,
                   .name = names[part.node],
                   .other = part.other ? names[*part.other] : "",
                   .partners = {},
                   .failed = part.failed,
                   .wrong = part.wrong,
                   .measurements = part.measurements};
  for (const std::uint32_t partner : part.partners) named.partners.push_back(names[partner]);
  return named;
}

// Without a topology nodes share uplinks that the search does not know of.
bool shares_the_spine(const SlowSearch& search, const Judgement& state) {
  return search.map.groups.empty() && (state.by_pairs || state.much_faster > 0.02);
}

// Groups of which pairs within answered, and none with another group did.
std::vector<std::string> cut_off_groups(const SlowSearch& search) {
  struct Pairs {
    bool within = false, across = false;
    std::size_t failed = 0;  // across
  };
  std::vector<Pairs> pairs_of(search.map.groups.size());
  for (const auto& round : search.rounds)
    for (const PairRate& pair : round) {
      const int g = search.map.group_of[pair.a], h = search.map.group_of[pair.b];
      const bool answered = pair.rate || pair.wrong_values;
      for (const int group : {g, h}) {
        if (group < 0) continue;
        Pairs& pairs = pairs_of[static_cast<std::size_t>(group)];
        (g == h ? pairs.within : pairs.across) |= answered;
        pairs.failed += g != h && !answered;
      }
    }
  std::vector<std::string> names;
  for (std::size_t g = 0; g < pairs_of.size(); ++g)
    if (pairs_of[g].within && !pairs_of[g].across && pairs_of[g].failed >= kLeastCrossing)
      names.push_back(search.map.groups[g]);
  return names;
}

}  // namespace

SlowFindings findings_of(const SlowSearch& search) {
  const Judgement state = judge(search);
  const FleetMap& map = search.map;
  SlowFindings findings;
  findings.nodes = static_cast<unsigned>(map.nodes.size());
  findings.groups = static_cast<unsigned>(map.groups.size());
  std::vector<bool> answered_wrongly(map.nodes.size());  // its pairs are among the failing
  for (const auto& round : search.rounds)
    for (const PairRate& pair : round)
      if (pair.wrong_values) answered_wrongly[pair.a] = answered_wrongly[pair.b] = true;
  for (std::size_t i = 0; i < map.nodes.size(); ++i) {
    const PartState& node = state.nodes.parts[i];
    if (state.failing.nodes[i] && (node.answers == 0 || state.gone[i])) continue;
    if (node.answers == 0 && answered_wrongly[i]) continue;
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
  for (const FailingPart& part : state.failing.parts)
    findings.failing.push_back(failed_part(part, map.nodes));

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
  else if (state.too_varied || shares_the_spine(search, state))
    findings.ended = SearchEnd::too_varied;

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
  if (const auto groups = cut_off_groups(search); !groups.empty())
    findings.notes.push_back(fmt::format(
        "Pairs within {} answered, and none with another group did: look at the uplinks.",
        join(groups, ", ")));
  if (shares_the_spine(search, state))
    findings.notes.push_back(
        "Some pairs are much faster than most, so most share a network that is too small for all "
        "of them, and it can hide slow nodes. Give the groups of nodes with --topology.");
  else if (state.too_varied)
    findings.notes.push_back(fmt::format(
        "The rates vary too much to say what is usual. Measure for longer, and while no other jobs "
        "run{}.",
        map.groups.empty() ? "; if nodes share uplinks, give their groups with --topology" : ""));
  if (map.groups.size() == 1 || map.groups.size() == 2)
    findings.notes.push_back(
        "Groups are compared with each other, which needs three of at least four nodes. Only "
        "nodes and links were judged.");
  return findings;
}

void add_plan(SlowFindings& findings, const SlowSearch& search) {
  const auto pairs = next_round(search);
  if (pairs.empty()) return;
  findings.ended = SearchEnd::planned;
  for (const auto& [a, b] : pairs)
    findings.next_round.push_back({search.map.nodes[a], search.map.nodes[b]});
}

}  // namespace gpuready::fleet
