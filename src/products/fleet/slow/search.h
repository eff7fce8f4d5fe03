// The search for slow nodes, groups of nodes and links: which pairs to measure next, and what the
// measurements say. All follows from the rounds so far, so a search can be continued from a file of
// them, and a round that was lost costs a round. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/slow/explain.h"
#include "fleet/slow/failing.h"
#include "fleet/slow/topology.h"

namespace gpuready::fleet {

struct SearchOptions {
  double slower_by = 0;  // a share, such as 0.1; 0: learned from the fleet (limits.h)
  unsigned most_rounds = 16;
  std::uint64_t seed = 1;
};

struct SlowSearch {
  FleetMap map;
  SearchOptions options;
  std::vector<std::vector<PairRate>> rounds;
};

// Pairs to measure at the same time; each node is in at most one. None: the search has ended.
std::vector<IndexPair> next_round(const SlowSearch& search);

// Of so few nodes most pairs may have a slow one: the fastest pairs show what is usual.
inline constexpr std::size_t kFewNodes = 31;
inline constexpr std::size_t kAllPairs = 10;  // of so few nodes every pair is measured

// This many pairs between two groups show their uplinks; a single pair shows its link.
inline constexpr std::size_t kLeastCrossing = 3;

enum class Standing { unknown, suspect, fine, slow };

struct PartState {
  Standing standing = Standing::unknown;
  double log_odds = 0;  // that it is slow
  double share = 0;     // of the usual rate; 0: not measured
  unsigned answers = 0;
};
struct LinkState : PartState {
  IndexPair pair;
};

// Nodes, or groups.
struct LevelState {
  std::vector<PartState> parts;
  std::vector<LinkState> links;  // between two parts that are not slow
};

struct Judgement {
  LevelState nodes, groups;
  std::vector<LinkState> links;  // between nodes, of one group or of two
  double usual_rate = 0;         // of pairs within a group
  double noise = 0;              // of one measurement, as a share
  double drop = 0;               // slower than usual by more than this share is slow
  // The rates do not show which nodes are slow: they vary too much, or by pairs instead of nodes.
  bool too_varied = false, by_pairs = false;
  double much_faster = 0;  // share of the pairs within groups that are much faster than their round
  // Usual rate of pairs across groups as a share of the rate within, while many groups measure.
  std::optional<double> across_share;
  // Groups that may measure across at the same time before they only share the spine.
  unsigned groups_at_once = 0;
  std::vector<unsigned> failures;  // by node: since its last answer
  std::vector<bool> gone;          // by node: no answer any more, with several partners
  Failing failing;
  unsigned answered_rounds = 0;
  unsigned lost_rounds = 0;  // at the end, without answers
};
Judgement judge(const SlowSearch& search);

}  // namespace gpuready::fleet
