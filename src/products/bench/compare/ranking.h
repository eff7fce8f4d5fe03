// The stacks of one run, the fastest first. They took turns within one session, each repeat in a
// process of its own, so that repeats are compared; the order holds for that session.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/record/run_record.h"

namespace gpuready::bench {

struct RankedStack {
  std::string id;
  Latency latency;
  // Of the time of the fastest one. The interval is of 99% over all stacks, from repeats' medians,
  // widened to hold the ratio; absent without two repeats of both, and if it would be of no use.
  std::optional<double> ratio, low, high;
  std::size_t repeats = 0;                          // that the interval rests on
  std::optional<std::size_t> repeats_for_interval;  // at least; present if these are too few
  bool told_apart = false;                          // significantly slower than the fastest
  // The repeats that tell this difference from that of two states of the machine; present if it is
  // significant but for these, and not told apart.
  std::optional<std::size_t> repeats_for_states;
  bool p95_counts = false;  // there are samples enough
};
struct UnrankedStack {
  std::string id, status, reason;
  std::optional<double> ns;  // of one that is timed: unverified, or the reference
};
struct Ranking {
  std::vector<RankedStack> ranked;
  std::vector<UnrankedStack> others;
  std::vector<std::string> losses;  // what of the ranked stacks does not count
  std::string learned;              // what the noise was learned from beside each two stacks
  // Whether the stacks did the same work, so that one is the fastest; else they are in the order
  // of the file, without ratios.
  bool same_work = true;
};

Ranking ranking_of(const RunRecord& run);

// Half the width of the interval of 99% of its typical time, as a share of it; from the repeats,
// and nothing for fewer than two.
std::optional<double> uncertainty_of(const StackResult& stack);

// For each stack that its repeats did not make known to `until`, what they did.
std::vector<std::string> notes_of_uncertainty(const std::vector<StackResult>& stacks, double until);

// The stacks (by index) that further repeats teach something of: too few to exclude two states of
// the machine, or not yet known to the share `until`, and within twice `most` repeats of it, since
// few repeats show their noise badly. The fastest stays in beside them, so that each is compared
// within the same rounds.
std::vector<std::size_t> stacks_to_repeat(const std::vector<StackResult>& stacks, double until,
                                          std::size_t most);

// Why those that differ significantly are not told apart; empty where that does not happen.
std::string too_few_to_tell_states(const Ranking& ranking);

// The ids of those that are as fast as the first as far as these repeats show.
std::vector<std::string> not_told_apart(const Ranking& ranking);

// Whole runs of one tag and machine as one, in which each run counts as a repeat; the others as
// they are.
std::vector<RunRecord> one_per_tag(const std::vector<RunRecord>& runs);

}  // namespace gpuready::bench
