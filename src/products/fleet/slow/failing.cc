#include "fleet/slow/failing.h"

#include <algorithm>
#include <map>

namespace gpuready::fleet {
namespace {

constexpr unsigned kForgiven = 6;     // answers for each failure: it was chance
constexpr unsigned kMostOfNode = 12;  // measurements of a node that fails
constexpr unsigned kMostOfPair = 3;   // and of a pair
constexpr std::size_t kSeveral = 2;   // partners with which a node fails; one may be the link

struct Count {
  unsigned failed = 0, wrong = 0, answers = 0;
  bool fails() const { return wrong > 0 || failed > answers; }
};

}  // namespace

Failing find_failing(const std::vector<std::vector<PairRate>>& rounds,
                     const std::vector<bool>& silent, const std::vector<bool>& lost) {
  std::map<IndexPair, Count> pairs;
  std::vector<unsigned> answers(silent.size());
  for (std::size_t r = 0; r < rounds.size(); ++r)
    for (const PairRate& pair : rounds[r]) {
      Count& count = pairs[ordered(pair.a, pair.b)];
      if (pair.rate)
        ++count.answers, ++answers[pair.a], ++answers[pair.b];
      else if (pair.wrong_values)
        ++count.wrong, ++count.failed;
      else if (!lost[r] && !silent[pair.a] && !silent[pair.b])
        ++count.failed;
    }
  std::erase_if(pairs, [](const auto& pair) { return pair.second.failed == 0; });

  Failing result{.parts = {},
                 .nodes = std::vector<bool>(silent.size()),
                 .nodes_again = std::vector<bool>(silent.size()),
                 .pairs_again = {}};
  // Each pair counts once, and only for a node that fails with several partners if there is one.
  const auto failing = [&] {
    std::map<std::uint32_t, FailingPart> parts;
    for (const auto& [pair, count] : pairs)
      for (const auto& [self, other] : {pair, IndexPair{pair.second, pair.first}}) {
        if (result.nodes[self] || result.nodes[other]) continue;
        FailingPart& part = parts[self];
        part.node = self;
        part.partners.push_back(other);
        part.failed += count.failed;
        part.wrong += count.wrong;
        part.measurements = answers[self] + part.failed;
      }
    std::erase_if(parts, [&](const auto& entry) {
      const FailingPart& part = entry.second;
      return part.wrong == 0 && kForgiven * part.partners.size() <= answers[part.node];
    });
    return parts;
  };
  auto open = failing();
  const auto more = [](const auto& a, const auto& b) {
    return a.second.partners.size() < b.second.partners.size();
  };
  while (!open.empty()) {
    const FailingPart worst = std::ranges::max_element(open, more)->second;
    if (worst.partners.size() < kSeveral) break;
    result.nodes[worst.node] = true;
    result.nodes_again[worst.node] = !silent[worst.node] && worst.measurements < kMostOfNode;
    result.parts.push_back(worst);
    open = failing();
  }
  for (const auto& [node, part] : open)
    result.nodes_again[node] =
        !silent[node] && part.measurements < kMostOfNode && kForgiven > answers[node];
  for (const auto& [pair, count] : pairs) {
    const auto& [a, b] = pair;
    if (result.nodes[a] || result.nodes[b] || !count.fails()) continue;
    result.parts.push_back({a, b, {}, count.failed, count.failed + count.answers, count.wrong});
    if (count.failed + count.answers < kMostOfPair) result.pairs_again.push_back(pair);
  }
  return result;
}

}  // namespace gpuready::fleet
