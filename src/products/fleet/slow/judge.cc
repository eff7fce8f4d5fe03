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
constexpr double kCluster = 0.06;       // medians across groups that differ by less are alike
constexpr double kShared = 0.97;        // of the rate within: below, pairs across share something
constexpr double kMuchShared = 0.85;    // and below this, it is not slow groups that make them slow
constexpr std::size_t kGoneAfter = 3;   // failures in sequence, with two partners; with one: 4
constexpr std::size_t kManyPairs = 16;  // a round of this many has its own usual rate
constexpr double kContradicts = 5;      // evidence of a pair against that of others
constexpr std::size_t kContradictions = 4;  // such pairs: more than a slow link or two

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
  const std::size_t nodes = search.map.nodes.size();
  result.failures.assign(nodes, 0);
  std::vector<std::set<std::uint32_t>> partners(nodes);  // of these failures
  std::vector<bool> silent(nodes, true), lost_rounds;
  for (const auto& round : search.rounds) {
    const auto answered = static_cast<std::size_t>(
        std::ranges::count_if(round, [](const PairRate& pair) { return pair.rate.has_value(); }));
    // The job died, not the nodes. A round of few nodes has too few pairs to say so.
    const bool lost = 4 * answered < round.size() && nodes > kAllPairs;
    result.lost_rounds = lost ? result.lost_rounds + 1 : 0;
    result.answered_rounds += !lost && answered > 0;
    lost_rounds.push_back(lost);
    for (const PairRate& pair : round)
      for (const auto& [node, other] : {IndexPair{pair.a, pair.b}, IndexPair{pair.b, pair.a}}) {
        if (pair.rate) {
          result.failures[node] = 0;
          partners[node].clear();
          silent[node] = false;
        } else if (!lost) {
          ++result.failures[node];
          partners[node].insert(other);
        }
      }
  }
  // Of few nodes each is measured with all others, since it may answer the last of them.
  const std::size_t most = nodes > kAllPairs ? kGoneAfter : std::max(kGoneAfter, nodes - 1);
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::size_t others = std::min<std::size_t>(partners[i].size(), 2);
    result.gone.push_back(others > 0 && result.failures[i] + others >= most + 2);
    silent[i] = silent[i] || result.gone[i];
  }
  result.failing = find_failing(search.rounds, silent, lost_rounds);
}

// Of a round of many pairs. Many have a slow node if the fastest are clearly faster, or if all
// differ.
bool fastest_are_usual(std::vector<double> rates) {
  constexpr double kFaster = 1.03;
  const double fastest = usual_rate(rates, false, kCluster);
  if (fastest > kFaster * usual_rate(rates, true)) return true;
  for (double& rate : rates) rate /= fastest;
  return learn_limits(rates, {}, false).wide;
}

// Whether many pairs of two slow nodes are fast, or of two fine ones slow. A few links may be.
bool contradicts(const std::vector<Measurement>& measurements,
                 const std::vector<PartState>& nodes) {
  std::map<IndexPair, double> sums;
  for (const Measurement& one : measurements) sums[one.pair] += one.evidence;
  const auto all = [&](const IndexPair& pair, Standing standing) {
    return nodes[pair.first].standing == standing && nodes[pair.second].standing == standing;
  };
  const auto pairs = static_cast<std::size_t>(std::ranges::count_if(sums, [&](const auto& entry) {
    const auto& [pair, sum] = entry;
    return (sum >= kContradicts && all(pair, Standing::fine)) ||
           (sum <= -kContradicts && all(pair, Standing::slow));
  }));
  return pairs >= std::max(kContradictions, nodes.size() / 16);
}

void doubt(Judgement& result) {
  const auto lower = [](auto& parts) {
    for (PartState& part : parts)
      if (part.standing == Standing::slow) part.standing = Standing::suspect;
  };
  lower(result.nodes.parts), lower(result.groups.parts);
  lower(result.links), lower(result.groups.links);
}

bool is_within(const FleetMap& map, const PairRate& pair) {
  return map.block_of[pair.a] == map.block_of[pair.b];
}

// The pairs within groups. `few`: the fastest of all rounds are usual, else most of each round.
struct Within {
  double usual = 0;
  RateLimits limits;
  std::vector<Measurement> measurements;
};
Within measured_within(const SlowSearch& search, const std::vector<std::vector<double>>& by_round,
                       bool few) {
  Within within;
  std::vector<double> all, shares;
  for (const auto& rates : by_round) all.insert(all.end(), rates.begin(), rates.end());
  within.usual = usual_rate(std::move(all), !few, few ? kCluster : 0);
  std::map<IndexPair, double> first;
  std::vector<std::pair<double, double>> repeats;
  for (std::size_t r = 0; r < search.rounds.size(); ++r) {
    const double usual =
        !few && by_round[r].size() >= kManyPairs ? usual_rate(by_round[r], true) : within.usual;
    for (const PairRate& pair : search.rounds[r]) {
      if (!pair.rate || !is_within(search.map, pair)) continue;
      const auto key = ordered(pair.a, pair.b);
      const double share = *pair.rate / usual;
      within.measurements.push_back({key, share, 0});
      shares.push_back(share);
      if (const auto [at, added] = first.emplace(key, share); !added)
        repeats.emplace_back(at->second, share);
    }
  }
  within.limits = learn_limits(shares, repeats, few, search.options.slower_by);
  for (Measurement& one : within.measurements)
    one.evidence = evidence_of(one.share, within.limits, within.limits.noise);
  return within;
}
Within measured_within(const SlowSearch& search) {
  std::vector<std::vector<double>> by_round;
  bool few = search.map.nodes.size() <= kFewNodes;
  for (const auto& round : search.rounds) {
    by_round.emplace_back();
    for (const PairRate& pair : round)
      if (pair.rate && is_within(search.map, pair)) by_round.back().push_back(*pair.rate);
    few = few || (by_round.back().size() >= kManyPairs && fastest_are_usual(by_round.back()));
  }
  const Within within = measured_within(search, by_round, few);
  return few || !within.limits.wide ? within : measured_within(search, by_round, true);
}

}  // namespace

Judgement judge(const SlowSearch& search) {
  Judgement result;
  count_answers(search, result);
  const Within within = measured_within(search);
  const RateLimits& limits = within.limits;
  auto measurements = within.measurements;
  result.usual_rate = within.usual;
  result.noise = limits.noise;
  result.drop = limits.drop;
  for (const Measurement& one : measurements)
    if (one.share > 1 + 3 * limits.drop)
      result.much_faster += 1.0 / static_cast<double>(measurements.size());
  result.nodes = level_of(search.map.nodes.size(), measurements);
  result.by_pairs = contradicts(measurements, result.nodes.parts);
  result.too_varied = limits.wide || result.by_pairs;

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
  if (result.too_varied) doubt(result);
  return result;
}

}  // namespace gpuready::fleet
