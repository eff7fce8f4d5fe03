// Which nodes and links give no answer or wrong values while others answer. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fleet/slow/explain.h"

namespace gpuready::fleet {

struct PairRate {
  std::uint32_t a = 0, b = 0;  // nodes
  std::optional<double> rate;  // absent: no answer, or one with wrong values
  bool wrong_values = false;
};

struct FailingPart {
  std::uint32_t node = 0;
  std::optional<std::uint32_t> other;   // of a link its other end
  std::vector<std::uint32_t> partners;  // of a node: with which it fails
  unsigned failed = 0, measurements = 0;
  unsigned wrong = 0;  // of those that failed: with wrong values
};

struct Failing {
  std::vector<FailingPart> parts;
  std::vector<bool> nodes;  // by node: it is one of the parts
  // To measure again: nodes with other partners, and pairs.
  std::vector<bool> nodes_again;
  std::vector<IndexPair> pairs_again;
};

// `silent`, by node: it never answered, or no longer does, so its pairs say nothing of the others.
// `lost`, by round: no failure in it counts.
Failing find_failing(const std::vector<std::vector<PairRate>>& rounds,
                     const std::vector<bool>& silent, const std::vector<bool>& lost);

}  // namespace gpuready::fleet
