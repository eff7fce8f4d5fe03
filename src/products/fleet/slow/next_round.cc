#include <algorithm>
#include <array>
#include <set>

#include "base/random.h"
#include "fleet/slow/limits.h"
#include "fleet/slow/search.h"

namespace gpuready::fleet {
namespace {

constexpr unsigned kMostAnswers = 8;      // a part that is undecided then stays so
constexpr unsigned kMostLinkAnswers = 6;  // it flaps
constexpr unsigned kConfirmed = 3;        // answers of a part that is slow
constexpr unsigned kMostLost = 3;         // rounds without answers, one after another
constexpr std::size_t kControls = 16;     // pairs that show what is usual in a round
constexpr std::size_t kLeastGroups = 3;   // two groups have one rate, and no other to compare
constexpr unsigned kFirstRounds = 2;      // before any node is judged
constexpr std::size_t kMostTimes = 4;     // a pair of those, to learn the noise

using Indexes = std::vector<std::uint32_t>;

class Round {
 public:
  explicit Round(const SlowSearch& search)
      : search_(search),
        map_(search.map),
        state_(judge(search)),
        random_(SplitMix64::at(search.options.seed, search.rounds.size())),
        used_(map_.nodes.size()) {
    for (const auto& round : search.rounds)
      for (const PairRate& pair : round) met_.insert(ordered(pair.a, pair.b));
  }

  std::vector<IndexPair> plan() {
    if (search_.rounds.size() >= search_.options.most_rounds || state_.lost_rounds >= kMostLost)
      return {};
    if (map_.nodes.size() <= kAllPairs) pair_all();
    const bool first = state_.answered_rounds < kFirstRounds || !pairs_.empty();
    const auto blocks = nodes_by(map_.block_of);
    std::vector<IndexPair> crossings;
    if (!first && std::ranges::none_of(blocks, [&](const Indexes& b) { return urgent(b); })) {
      // A quarter of a group at most is missing from the pairs across, so that the load stays.
      std::vector<std::size_t> taken(blocks.size());
      pair_with_partners(blocks, [&](std::uint32_t node) {
        const auto block = static_cast<std::size_t>(map_.block_of[node]);
        return unconfirmed(state_.nodes.parts[node]) && 8 * ++taken[block] <= blocks[block].size();
      });
      crossings = plan_crossings();
    }
    if (crossings.empty()) {
      if (!first) add_links();
      pair_with_partners(blocks, [&](std::uint32_t node) { return needy(node); });
    }
    if (pairs_.empty() && crossings.empty() && !first) return {};
    if (first) repeat_pairs();
    for (const IndexPair& groups : crossings) cross(groups, pairs_across(crossings));
    std::size_t controls = 0;
    for (const Indexes& block : blocks) pair_rest(block, first ? SIZE_MAX : kControls, controls);
    return std::move(pairs_);
  }

 private:
  bool alive(std::uint32_t node) const { return !state_.gone[node]; }
  bool free(std::uint32_t node) const { return !used_[node] && alive(node); }
  static bool open(const PartState& part, unsigned most) {
    return part.standing == Standing::suspect && part.answers < most;
  }
  // Two slow measurements may be chance, where something else slows many.
  static bool unconfirmed(const PartState& part) {
    return part.standing == Standing::slow && part.answers < kConfirmed;
  }
  bool needy(std::uint32_t node) const {
    const PartState& part = state_.nodes.parts[node];
    return part.standing == Standing::unknown || open(part, kMostAnswers) || unconfirmed(part) ||
           state_.failures[node] > 0 || state_.failing.nodes_again[node];
  }
  // Groups are measured when their nodes are known; a node that stays undecided does not stop that,
  // nor does one that gave no answer for once.
  bool urgent(const Indexes& block) const {
    return std::ranges::any_of(block, [&](std::uint32_t node) {
      const PartState& part = state_.nodes.parts[node];
      return alive(node) && (part.standing == Standing::unknown || open(part, kMostAnswers / 2));
    });
  }
  // Pairs that are measured again, while no others load their groups' uplinks.
  void add_links() {
    std::vector<bool> busy(map_.groups.size());
    std::vector<IndexPair> again;
    for (const IndexPair& pair : state_.failing.pairs_again)  // if each has answered others since
      if (state_.failures[pair.first] == 0 && state_.failures[pair.second] == 0)
        again.push_back(pair);
    for (const LinkState& link : state_.links)
      if (open(link, kMostLinkAnswers) || unconfirmed(link)) again.push_back(link.pair);
    for (const IndexPair& pair : again) {
      const auto [a, b] = pair;
      const int g = map_.group_of[a], h = map_.group_of[b];
      if (!free(a) || !free(b)) continue;
      if (g >= 0 && h >= 0 && g != h) {
        if (busy[static_cast<std::size_t>(g)] || busy[static_cast<std::size_t>(h)]) continue;
        busy[static_cast<std::size_t>(g)] = busy[static_cast<std::size_t>(h)] = true;
      }
      add(pair);
    }
  }
  bool clean(std::uint32_t node) const {
    return free(node) && state_.nodes.parts[node].standing == Standing::fine &&
           state_.failures[node] == 0 && !state_.failing.nodes_again[node];
  }
  void add(IndexPair pair) {
    pairs_.push_back(pair);
    used_[pair.first] = used_[pair.second] = true;
  }
  void shuffle(Indexes& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random_.next() % i]);
  }

  std::vector<Indexes> nodes_by(const std::vector<int>& group) {
    std::vector<Indexes> lists(map_.groups.size() + 1);
    for (std::uint32_t node = 0; node < group.size(); ++node)
      if (group[node] >= 0) lists[static_cast<std::size_t>(group[node])].push_back(node);
    for (Indexes& list : lists) shuffle(list);
    return lists;
  }

  // Partners for `needy`, the likeliest slow first: clean ones that it has not met; then any clean
  // one; then each other. Calls `add` with each pair.
  template <class Add>
  void match(Indexes needy, Indexes clean, const std::vector<PartState>& parts, const auto& met,
             Add add) {
    std::ranges::stable_sort(needy, [&](std::uint32_t a, std::uint32_t b) {
      return parts[a].log_odds > parts[b].log_odds;
    });
    const auto take = [&](std::uint32_t self, Indexes& from, bool any) -> bool {
      for (auto at = from.begin(); at != from.end(); ++at)
        if (any || !met.contains(ordered(self, *at))) {
          add(ordered(self, *at));
          from.erase(at);
          return true;
        }
      return false;
    };
    Indexes left;
    for (const std::uint32_t self : needy)
      if (!take(self, clean, false) && !take(self, clean, true)) left.push_back(self);
    while (left.size() > 1) {
      const std::uint32_t self = left.front();
      left.erase(left.begin());
      take(self, left, false);  // two that were measured together say nothing new of each other
    }
  }

  template <class Wanted>
  void pair_with_partners(const std::vector<Indexes>& blocks, Wanted wanted) {
    for (const Indexes& block : blocks) {
      Indexes want, partners;
      for (const std::uint32_t node : block)
        if (free(node)) {
          if (wanted(node))
            want.push_back(node);
          else if (clean(node))
            partners.push_back(node);
        }
      match(std::move(want), std::move(partners), state_.nodes.parts, met_,
            [&](IndexPair pair) { add(pair); });
    }
  }

  // All pairs, in the order of a tournament, and then again until enough show the noise.
  void pair_all() {
    const auto nodes = static_cast<std::uint32_t>(map_.nodes.size());
    for (std::size_t times = 0; pairs_.empty() && times < kMostTimes; ++times) {
      std::size_t repeats = 0;
      for (std::uint32_t sum = 0; sum < nodes; ++sum)
        for (std::uint32_t a = 0; a < nodes; ++a) {
          const std::uint32_t b = (sum + nodes - a) % nodes;
          if (a >= b) continue;
          repeats += std::max<std::size_t>(met_.count({a, b}), 1) - 1;
          if (map_.block_of[a] == map_.block_of[b] && free(a) && free(b) &&
              met_.count({a, b}) == times)
            add({a, b});
        }
      if (times > 0 && repeats >= kFewRepeats) {
        pairs_.clear();
        used_.assign(nodes, false);
      }
    }
  }

  // In the second round every other pair measures again: the difference is noise.
  void repeat_pairs() {
    bool again = true;
    if (!search_.rounds.empty())
      for (const PairRate& pair : search_.rounds.back())
        if (pair.rate && clean(pair.a) && clean(pair.b) && std::exchange(again, !again))
          add(ordered(pair.a, pair.b));
  }

  void pair_rest(const Indexes& block, std::size_t most, std::size_t& made) {
    std::optional<std::uint32_t> waits;
    for (const std::uint32_t node : block) {
      if (made >= most || !clean(node)) continue;
      if (!waits) {
        waits = node;
        continue;
      }
      add(ordered(*waits, node));
      waits.reset();
      ++made;
    }
  }

  // Which groups measure with each other; none: all that can be known of them is known.
  std::vector<IndexPair> plan_crossings() {
    if (map_.groups.size() < kLeastGroups) return {};
    members_ = nodes_by(map_.group_of);
    members_.resize(map_.groups.size());
    for (std::uint32_t g = 0; g < members_.size(); ++g) {
      std::erase_if(members_[g], [&](std::uint32_t node) { return !free(node); });
      std::ranges::stable_partition(members_[g], [&](std::uint32_t node) { return clean(node); });
    }
    Indexes order(map_.groups.size()), fresh, want, partners;
    for (std::uint32_t g = 0; g < order.size(); ++g) order[g] = g;
    shuffle(order);
    std::set<std::uint32_t> forced;
    std::vector<IndexPair> crossings;
    for (const LinkState& link : state_.groups.links)
      if (open(link, kMostLinkAnswers) && !forced.contains(link.pair.first) &&
          !forced.contains(link.pair.second)) {
        forced.insert({link.pair.first, link.pair.second});
        crossings.push_back(link.pair);
      }
    for (const std::uint32_t g : order) {
      const PartState& part = state_.groups.parts[g];
      const auto usable = std::ranges::count_if(members_[g], [&](std::uint32_t node) {
        return state_.nodes.parts[node].standing != Standing::slow;  // as judge() counts them
      });
      if (usable < std::ptrdiff_t{kLeastCrossing} || forced.contains(g)) continue;
      if (part.standing == Standing::unknown)
        fresh.push_back(g);
      else if (open(part, kMostAnswers))
        want.push_back(g);
      else if (part.standing == Standing::fine)
        partners.push_back(g);
    }
    std::set<IndexPair> met;
    for (const auto& round : search_.rounds)
      for (const PairRate& pair : round)
        if (const int g = map_.group_of[pair.a], h = map_.group_of[pair.b]; g >= 0 && h >= 0)
          met.insert(ordered(static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(h)));
    // Groups that were not measured, first with each other; two that gave no answer with others.
    std::vector<IndexPair> again;
    for (; fresh.size() > 1; fresh.resize(fresh.size() - 2)) {
      const auto pair = ordered(fresh[fresh.size() - 1], fresh[fresh.size() - 2]);
      if (met.contains(pair)) want.insert(want.end(), {pair.first, pair.second});
      (met.contains(pair) ? again : crossings).push_back(pair);
    }
    want.insert(want.end(), fresh.begin(), fresh.end());
    if (want.empty() && crossings.empty()) return {};
    std::set<std::uint32_t> taken;
    match(std::move(want), partners, state_.groups.parts, met, [&](IndexPair pair) {
      crossings.push_back(pair);
      taken.insert({pair.first, pair.second});
    });
    if (crossings.empty()) crossings = again;  // each of them has met all others
    // The others show what is usual, under the same load.
    std::erase_if(partners, [&](std::uint32_t g) { return taken.contains(g); });
    for (std::size_t i = 1; i < partners.size(); i += 2)
      crossings.push_back(ordered(partners[i - 1], partners[i]));
    if (2 * crossings.size() > state_.groups_at_once)
      crossings.resize(std::max(1u, state_.groups_at_once / 2));
    return crossings;
  }

  // The same number of pairs for all groups, so that they load their uplinks alike.
  std::size_t pairs_across(const std::vector<IndexPair>& crossings) const {
    std::vector<std::size_t> sizes;
    for (const auto& [g, h] : crossings)
      sizes.push_back(std::min(members_[g].size(), members_[h].size()));
    std::ranges::sort(sizes);
    const std::size_t middle = sizes[sizes.size() / 2];
    return *std::ranges::find_if(sizes, [&](std::size_t size) { return 2 * size >= middle; });
  }

  void cross(const IndexPair& groups, std::size_t most) {
    const Indexes &g = members_[groups.first], &h = members_[groups.second];
    for (std::size_t i = 0; i < std::min({g.size(), h.size(), most}); ++i) add(ordered(g[i], h[i]));
  }

  const SlowSearch& search_;
  const FleetMap& map_;
  const Judgement state_;
  SplitMix64 random_;
  std::vector<bool> used_;
  std::multiset<IndexPair> met_;
  std::vector<Indexes> members_;  // by group: nodes that are free, those that are fine first
  std::vector<IndexPair> pairs_;
};

}  // namespace

std::vector<IndexPair> next_round(const SlowSearch& search) { return Round(search).plan(); }

}  // namespace gpuready::fleet
