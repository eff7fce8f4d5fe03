#include "fleet/slow/explain.h"

#include <algorithm>
#include <cmath>

namespace gpuready::fleet {
namespace {

// A set of slow items. A pair is explained when one of its items is in the set; its evidence then
// counts, up to what a slow link between them would explain as well.
class Cover {
 public:
  Cover(std::size_t items, const std::vector<PairEvidence>& pairs)
      : prior_(item_prior(items)), in_(items), gain_(items, -prior_), pairs_of_(items) {
    const double most = link_prior(items);
    for (const PairEvidence& pair : pairs) {
      const auto [a, b] = pair.pair;
      const double weight = std::min(pair.sum, most);
      pairs_of_[a].push_back({b, weight});
      pairs_of_[b].push_back({a, weight});
      gain_[a] += weight;
      gain_[b] += weight;
      if (weight <= 0) continue;
      suspects_.push_back(a);
      suspects_.push_back(b);
    }
    std::ranges::sort(suspects_);
    suspects_.erase(std::ranges::unique(suspects_).begin(), suspects_.end());
  }

  bool has(std::uint32_t item) const { return in_[item]; }
  double gain(std::uint32_t item) const { return gain_[item]; }  // of putting it in, or keeping it
  const std::vector<std::uint32_t>& suspects() const { return suspects_; }
  const std::vector<bool>& items() const { return in_; }

  // Both give the change of the logarithm of the likelihood.
  double put(std::uint32_t item) { return flip(item, true); }
  double take(std::uint32_t item) { return flip(item, false); }

  // Puts in what gains and takes out what no longer does; `kept` stays as it is.
  double improve(std::uint32_t kept = UINT32_MAX) {
    double change = 0;
    for (std::size_t step = 0; step < 4 * suspects_.size() + 4; ++step) {
      std::uint32_t best = UINT32_MAX;
      double most = 1e-9;
      for (const std::uint32_t item : suspects_) {
        const double gained = in_[item] ? -gain_[item] : gain_[item];
        if (item != kept && gained > most) best = item, most = gained;
      }
      if (best == UINT32_MAX) break;
      change += flip(best, !in_[best]);
    }
    return change;
  }

 private:
  double flip(std::uint32_t item, bool in) {
    in_[item] = in;
    for (const auto& [other, weight] : pairs_of_[item]) gain_[other] += in ? -weight : weight;
    return in ? gain_[item] : -gain_[item];
  }

  double prior_;
  std::vector<bool> in_;
  // Sum over the pairs of an item that no other item explains, less the prior.
  std::vector<double> gain_;
  std::vector<std::vector<std::pair<std::uint32_t, double>>> pairs_of_;
  std::vector<std::uint32_t> suspects_;  // items of pairs that look slow
};

}  // namespace

double item_prior(std::size_t items) {
  return std::log(static_cast<double>(std::max<std::size_t>(items, 64)));
}
double link_prior(std::size_t items) { return 2 * item_prior(items); }

Explanation explain(std::size_t items, const std::vector<PairEvidence>& pairs) {
  Cover best(items, pairs);
  best.improve();
  Explanation result{.slow = best.items(), .log_odds = {}};
  for (std::uint32_t item = 0; item < items; ++item) result.log_odds.push_back(best.gain(item));
  for (const std::uint32_t item : best.suspects()) {
    Cover other = best;
    const double change = best.has(item) ? other.take(item) : other.put(item);
    const double odds = change + other.improve(item);
    result.log_odds[item] = best.has(item) ? -odds : odds;
  }
  return result;
}

}  // namespace gpuready::fleet
