#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/statistics.h"
#include "fleet/slow/limits.h"
#include "fleet/slow/search.h"

namespace gpuready::fleet {
namespace {

// Wald's test (1945): a part is fine when a slow one would look so in 0.3% of fleets, and slow when
// that is 0.995 sure.
const double kFine = std::log(0.003), kSlow = std::log(0.995 / 0.005);
constexpr double kCluster = 0.06;     // medians across groups that differ by less are alike
constexpr double kShared = 0.97;      // of the rate within: below, pairs across share something
constexpr double kMuchShared = 0.85;  // and below this, it is not slow groups that make them slow
constexpr unsigned kGoneAfter = 3;    // failures in sequence, with different partners

struct Measurement {
  IndexPair pair;
  double share = 0;
  double evidence = 0;
};

struct Member {
  std::uint32_t a = 0, b = 0;
  double rate = 0;
};
// Pairs that measured between two groups at the same time.
struct Crossing {
  IndexPair groups;
  std::vector<Member> members;
  std::size_t planned = 0, failed = 0;
  double rate() const {
    std::vector<double> rates;
    for (const Member& member : members) rates.push_back(member.rate);
    return median(std::move(rates));
  }
};
struct CrossRound {
  std::vector<Crossing> loaded;   // as many pairs as the round had for each two groups
  std::vector<Crossing> singles;  // fewer: links that are measured again
  unsigned groups() const { return static_cast<unsigned>(2 * loaded.size()); }
};

PartState settle(double log_odds, double prior, unsigned answers) {
  PartState state{.log_odds = log_odds, .answers = answers};
  state.standing = answers == 0                ? Standing::unknown
                   : log_odds >= kSlow         ? Standing::slow
                   : log_odds + prior <= kFine ? Standing::fine
                                               : Standing::suspect;
  return state;
}

std::vector<LinkState> links_of(std::size_t items, const std::vector<Measurement>& measurements,
                                const std::vector<PartState>& parts) {
  struct Sum {
    double evidence = 0;
    std::vector<double> shares;
  };
  std::map<IndexPair, Sum> sums;
  for (const Measurement& one : measurements) {
    Sum& sum = sums[one.pair];
    sum.evidence += one.evidence;
    sum.shares.push_back(one.share);
  }
  std::vector<LinkState> links;
  const double prior = link_prior(items);
  for (auto& [pair, sum] : sums) {
    const double log_odds = sum.evidence - prior;
    if (log_odds < kFine || parts[pair.first].standing != Standing::fine ||
        parts[pair.second].standing != Standing::fine)
      continue;
    LinkState link{settle(log_odds, 0, static_cast<unsigned>(sum.shares.size())), pair};
    link.share = median(std::move(sum.shares));
    links.push_back(link);
  }
  return links;
}

LevelState level_of(std::size_t items, const std::vector<Measurement>& measurements) {
  std::map<IndexPair, double> sums;
  std::vector<unsigned> answers(items);
  for (const Measurement& one : measurements) {
    sums[one.pair] += one.evidence;
    ++answers[one.pair.first];
    ++answers[one.pair.second];
  }
  std::vector<PairEvidence> pairs;
  for (const auto& [pair, sum] : sums) pairs.push_back({pair, sum});
  const Explanation found = explain(items, pairs);
  LevelState level;
  for (std::size_t i = 0; i < items; ++i)
    level.parts.push_back(settle(found.log_odds[i], item_prior(items), answers[i]));
  std::vector<std::vector<double>> shares(items), any(items);
  for (const Measurement& one : measurements)
    for (const auto& [self, other] : {one.pair, IndexPair{one.pair.second, one.pair.first}}) {
      any[self].push_back(one.share);
      if (!found.slow[other]) shares[self].push_back(one.share);
    }
  for (std::size_t i = 0; i < items; ++i)
    level.parts[i].share = median(std::move(shares[i].empty() ? any[i] : shares[i]));
  level.links = links_of(items, measurements, level.parts);
  return level;
}

// Which rounds across groups count, where the spine may be too small for all at the same time. A
// slow uplink does not show while the spine is slower still. So half as many groups measure at the
// same time for as long as that makes each of them faster.
struct Load {
  unsigned at_once = 0;         // for the next round
  unsigned most = 0;            // of the rounds that count
  bool shared = false;          // what those measure is less than pairs within a group do
  std::optional<double> share;  // of the rate within, when all measure
};
Load load_of(const std::vector<CrossRound>& rounds, std::size_t groups, double within) {
  constexpr double kFaster = 1.03;
  struct Rates {
    std::vector<double> values;
    std::set<std::uint32_t> groups;
    double usual() const { return usual_rate(values, false, kCluster); }
  };
  const auto rates_of = [&](unsigned most) {
    Rates rates;
    for (const CrossRound& round : rounds)
      if (round.groups() <= most && round.groups() > most / 2)
        for (const Crossing& crossing : round.loaded) {
          rates.values.push_back(crossing.rate());
          rates.groups.insert({crossing.groups.first, crossing.groups.second});
        }
    return rates;
  };
  const unsigned all = static_cast<unsigned>(groups) & ~1u;
  Load load{.at_once = all, .most = all, .share = {}};
  const Rates first = rates_of(all);
  if (first.values.empty() || within == 0) return load;
  double usual = first.usual();
  load.share = usual / within;
  while (usual < kShared * within) {
    const unsigned half = (load.most / 2) & ~1u;
    if (half < 2) break;
    const Rates rates = rates_of(half);
    // Only when each group has been measured, two that are not slow have been, with each other.
    const bool enough = rates.groups.size() >= first.groups.size();
    const bool faster = rates.usual() > kFaster * usual;
    const bool undecided = rates.values.empty() || (!enough && usual >= kMuchShared * within);
    load.at_once = faster || undecided ? half : load.most;
    if (faster || undecided) load.most = half;
    if (faster) usual = rates.usual();
    if (!faster || !enough) break;
  }
  load.shared = usual < kShared * within;
  return load;
}

std::vector<Measurement> measured_groups(const std::vector<CrossRound>& rounds, const Load& load,
                                         double within, const RateLimits& limits) {
  // Only rounds of the same load are alike: by whether half of the groups measured, and where they
  // share something by the number of pairs.
  std::map<std::size_t, std::vector<double>> by_pairs;
  for (const CrossRound& round : rounds)
    for (const Crossing& crossing : round.loaded)
      if (round.groups() <= load.most) by_pairs[crossing.planned].push_back(crossing.rate());
  std::set<std::size_t> shared;
  for (const auto& [pairs, values] : by_pairs)
    if (load.shared || usual_rate(values, false, kCluster) < kMuchShared * within)
      shared.insert(pairs);
  const auto kind_of = [&](const CrossRound& round, const Crossing& crossing) {
    return std::pair(round.groups() <= load.most / 2,
                     shared.contains(crossing.planned) ? crossing.planned : 0);
  };
  const auto counts = [&](const CrossRound& round, const Crossing& crossing) {
    return round.groups() <= load.most &&
           (!shared.contains(crossing.planned) || crossing.failed == 0);
  };
  std::map<std::pair<bool, std::size_t>, std::vector<double>> rates;
  for (const CrossRound& round : rounds)
    for (const Crossing& crossing : round.loaded)
      if (counts(round, crossing)) rates[kind_of(round, crossing)].push_back(crossing.rate());
  std::vector<Measurement> measurements;
  for (const CrossRound& round : rounds)
    for (const Crossing& crossing : round.loaded) {
      if (!counts(round, crossing)) continue;
      const double usual = usual_rate(rates[kind_of(round, crossing)], false, kCluster);
      Measurement one{crossing.groups, crossing.rate() / usual, 0};
      // Of a median (its efficiency is 2/pi), with what the reference itself may be off by.
      one.evidence =
          evidence_of(one.share, limits,
                      1.4 * limits.noise / std::sqrt(static_cast<double>(crossing.members.size())));
      measurements.push_back(one);
    }
  return measurements;
}

CrossRound cross_round_of(const SlowSearch& search, const std::vector<PairRate>& round,
                          const std::vector<PartState>& nodes) {
  std::map<IndexPair, Crossing> crossings;
  for (const PairRate& pair : round) {
    const int g = search.map.group_of[pair.a], h = search.map.group_of[pair.b];
    if (g < 0 || h < 0 || g == h) continue;
    const auto groups = ordered(static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(h));
    Crossing& crossing = crossings[groups];
    crossing.groups = groups;
    ++crossing.planned;
    crossing.failed += !pair.rate;
    if (pair.rate && nodes[pair.a].standing != Standing::slow &&
        nodes[pair.b].standing != Standing::slow)
      crossing.members.push_back({pair.a, pair.b, *pair.rate});
  }
  std::size_t most = 0;
  for (const auto& [groups, crossing] : crossings) most = std::max(most, crossing.planned);
  CrossRound result;
  for (auto& [groups, crossing] : crossings)
    if (!crossing.members.empty())
      (crossing.members.size() >= kLeastCrossing && 2 * crossing.planned >= most ? result.loaded
                                                                                 : result.singles)
          .push_back(std::move(crossing));
  return result;
}

void count_answers(const SlowSearch& search, Judgement& result) {
  result.failures.assign(search.map.nodes.size(), 0);
  for (const auto& round : search.rounds) {
    const auto answered = static_cast<std::size_t>(
        std::ranges::count_if(round, [](const PairRate& pair) { return pair.rate.has_value(); }));
    const bool lost = 4 * answered < round.size() || round.empty();  // the job died, not the nodes
    result.lost_rounds = lost ? result.lost_rounds + 1 : 0;
    result.answered_rounds += !lost;
    for (const PairRate& pair : round)
      for (const std::uint32_t node : {pair.a, pair.b}) {
        if (pair.rate)
          result.failures[node] = 0;
        else if (!lost)
          ++result.failures[node];
      }
  }
  for (const unsigned failures : result.failures) result.gone.push_back(failures >= kGoneAfter);
}

bool is_within(const FleetMap& map, const PairRate& pair) {
  return map.block_of[pair.a] == map.block_of[pair.b];
}

}  // namespace

Judgement judge(const SlowSearch& search) {
  constexpr std::size_t kManyPairs = 16;  // a round has a usual rate of its own
  Judgement result;
  count_answers(search, result);
  std::vector<double> all;
  std::vector<std::vector<double>> by_round;
  for (const auto& round : search.rounds) {
    by_round.emplace_back();
    for (const PairRate& pair : round)
      if (pair.rate && is_within(search.map, pair)) by_round.back().push_back(*pair.rate);
    all.insert(all.end(), by_round.back().begin(), by_round.back().end());
  }
  const bool few = search.map.nodes.size() <= kFewNodes;
  result.usual_rate =
      few ? usual_rate(std::move(all), false, kCluster) : usual_rate(std::move(all), true);

  std::vector<Measurement> measurements;
  std::vector<double> shares;
  std::map<IndexPair, double> first;
  std::vector<std::pair<double, double>> repeats;
  for (std::size_t r = 0; r < search.rounds.size(); ++r) {
    const double usual =
        by_round[r].size() >= kManyPairs ? usual_rate(by_round[r], true) : result.usual_rate;
    for (const PairRate& pair : search.rounds[r]) {
      if (!pair.rate || !is_within(search.map, pair)) continue;
      const auto key = ordered(pair.a, pair.b);
      const double share = *pair.rate / usual;
      measurements.push_back({key, share, 0});
      shares.push_back(share);
      if (const auto [at, added] = first.emplace(key, share); !added)
        repeats.emplace_back(at->second, share);
    }
  }
  const RateLimits limits = learn_limits(shares, repeats, few, search.options.slower_by);
  result.noise = limits.noise;
  result.drop = limits.drop;
  for (Measurement& one : measurements) one.evidence = evidence_of(one.share, limits, limits.noise);
  result.nodes = level_of(search.map.nodes.size(), measurements);

  std::vector<CrossRound> crossed;
  for (const auto& round : search.rounds)
    crossed.push_back(cross_round_of(search, round, result.nodes.parts));
  std::erase_if(crossed, [](const CrossRound& r) { return r.loaded.empty() && r.singles.empty(); });
  const Load load = load_of(crossed, search.map.groups.size(), result.usual_rate);
  result.groups_at_once = load.at_once;
  result.across_share = load.share;
  result.groups =
      level_of(search.map.groups.size(), measured_groups(crossed, load, result.usual_rate, limits));

  // A pair across groups is compared with those beside it; one without such with pairs within.
  for (const CrossRound& round : crossed)
    for (const auto* crossings : {&round.loaded, &round.singles})
      for (const Crossing& crossing : *crossings) {
        const bool single = crossings == &round.singles;
        const auto slow = [&](std::uint32_t group) {
          return result.groups.parts[group].standing == Standing::slow;
        };
        if (single && (slow(crossing.groups.first) || slow(crossing.groups.second))) continue;
        const double usual = single ? result.usual_rate : crossing.rate();
        for (const Member& member : crossing.members) {
          const double share = member.rate / usual;
          measurements.push_back(
              {ordered(member.a, member.b), share, evidence_of(share, limits, limits.noise)});
        }
      }
  result.links = links_of(search.map.nodes.size(), measurements, result.nodes.parts);
  std::erase_if(result.links, [&](const LinkState& link) {
    const int g = search.map.group_of[link.pair.first], h = search.map.group_of[link.pair.second];
    const auto fine = [&](int group) {
      return group < 0 ||
             result.groups.parts[static_cast<std::size_t>(group)].standing == Standing::fine;
    };
    return g != h && !(fine(g) && fine(h));
  });
  return result;
}

}  // namespace gpuready::fleet
