// Which parts are slow, where each measurement is of a pair and as slow as its slowest part: the
// two items, or the link between them. Pure.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace gpuready::fleet {

using IndexPair = std::pair<std::uint32_t, std::uint32_t>;  // the lesser first
inline IndexPair ordered(std::uint32_t a, std::uint32_t b) {
  return a < b ? IndexPair{a, b} : IndexPair{b, a};
}

struct PairEvidence {
  IndexPair pair;
  double sum = 0;  // of evidence_of() its measurements
};

struct Explanation {
  std::vector<bool> slow;  // by item: those of the likeliest explanation
  // By item: the logarithm of how much likelier the best explanation with it is than the best one
  // without. Items that only slow partners make suspect are not likely, therefore.
  std::vector<double> log_odds;
};

// Logarithms of the odds against it before any measurement: of all items (of a small fleet: of 64)
// one is expected to be slow, and a slow link is as rare as two slow items.
double item_prior(std::size_t items);
double link_prior(std::size_t items);

Explanation explain(std::size_t items, const std::vector<PairEvidence>& pairs);

}  // namespace gpuready::fleet
