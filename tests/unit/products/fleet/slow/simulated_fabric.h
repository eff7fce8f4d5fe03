// A simulated fleet: nodes below leaf switches, whose uplinks and one spine all pairs across share
// (max-min fair). A pair is as slow as the slowest of its parts.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <vector>

#include "base/random.h"
#include "fleet/slow/search.h"

namespace gpuready::fleet::test {

class Fabric {
 public:
  // `leaf`: nodes of a group; 0: no topology is given.
  Fabric(std::uint32_t nodes, std::uint32_t leaf, std::uint64_t seed)
      : random_(seed),
        node(nodes, 1),
        uplink(leaf ? nodes / leaf : 0, 1),
        leaves_(nodes, UINT32_MAX) {
    std::vector<NodeGroup> topology;
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      names.push_back("n" + std::to_string(i));
      if (!leaf) continue;
      if (i % leaf == 0) topology.push_back({"leaf" + std::to_string(i / leaf), {}});
      topology.back().nodes.push_back(names.back());
    }
    map = map_of(names, topology);
  }

  double uniform() { return static_cast<double>(random_.next() >> 11) * 0x1p-53; }
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }
  std::vector<std::uint32_t> some(std::uint32_t number, std::uint32_t of) {
    std::vector<std::uint32_t> list;
    while (list.size() < number)
      if (const auto i = static_cast<std::uint32_t>(random_.next() % of);
          std::ranges::find(list, i) == list.end())
        list.push_back(i);
    std::ranges::sort(list);
    return list;
  }
  void leave(std::uint32_t who, unsigned round) { leaves_[who] = round; }

  std::vector<PairRate> measure(const std::vector<IndexPair>& pairs) {
    struct Flow {
      double cap, rate = 0;
      std::vector<std::size_t> shared;
      bool done = false;
    };
    std::vector<double> left(uplink.size() + 1);
    for (std::size_t g = 0; g < uplink.size(); ++g)
      left[g] = uplink[g] * uplinks * static_cast<double>(node.size() / uplink.size());
    left.back() = spine * static_cast<double>(node.size()) / 2;
    std::vector<Flow> flows;
    for (const auto& [a, b] : pairs) {
      Flow flow{.cap = std::min(node[a], node[b]), .shared = {}};
      if (const auto at = link.find({a, b}); at != link.end())
        if (!flaps || uniform() < 0.5) flow.cap = std::min(flow.cap, at->second);
      if (!uplink.empty()) {
        const std::size_t leaf = node.size() / uplink.size(), g = a / leaf, h = b / leaf;
        if (g != h) {
          flow.cap = std::min({flow.cap, uplink[g], uplink[h]});
          flow.shared = {g, h, uplink.size()};
        }
      }
      flows.push_back(flow);
    }
    for (std::size_t open = flows.size(); open > 0;) {  // progressive filling
      std::vector<std::size_t> users(left.size());
      for (const Flow& flow : flows)
        if (!flow.done)
          for (const std::size_t r : flow.shared) ++users[r];
      double least = 1e9;
      for (std::size_t r = 0; r < left.size(); ++r)
        if (users[r]) least = std::min(least, left[r] / static_cast<double>(users[r]));
      const bool capped = std::ranges::any_of(
          flows, [&](const Flow& flow) { return !flow.done && flow.cap <= least; });
      std::vector<std::size_t> full;
      for (std::size_t r = 0; r < left.size() && !capped; ++r)
        if (users[r] && left[r] / static_cast<double>(users[r]) <= least * (1 + 1e-12))
          full.push_back(r);
      for (Flow& flow : flows) {
        if (flow.done ||
            (capped ? flow.cap > least
                    : std::ranges::find_first_of(flow.shared, full) == flow.shared.end()))
          continue;
        flow.rate = capped ? flow.cap : least;
        for (const std::size_t r : flow.shared) left[r] -= flow.rate;
        flow.done = true;
        --open;
      }
    }
    std::vector<PairRate> rates;
    const bool job_dies = round_ == dies;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      PairRate rate{pairs[i].first, pairs[i].second, flows[i].rate * (1 + noise * normal())};
      if (uniform() < hiccups) *rate.rate *= 0.3 + 0.6 * uniform();
      if (job_dies || leaves_[rate.a] <= round_ || leaves_[rate.b] <= round_ || uniform() < fails ||
          flows[i].rate == 0)
        rate.rate.reset();
      rates.push_back(rate);
    }
    ++round_;
    return rates;
  }

  FleetMap map;

 private:
  SplitMix64 random_;

 public:
  std::vector<double> node, uplink;  // speeds; 1: as it should be
  std::map<IndexPair, double> link;
  bool flaps = false;  // links are slow half of the time
  double uplinks = 1;  // capacity of a leaf's uplinks, by its nodes
  double spine = 1;    // capacity of the spine, by what all nodes can send
  double noise = 0.02;
  double hiccups = 0;          // share of measurements that something else slows down
  double fails = 0;            // share of measurements without an answer
  unsigned dies = UINT32_MAX;  // the round in which no pair answers

 private:
  std::vector<unsigned> leaves_;  // by node: in which round
  unsigned round_ = 0;
};

// All rounds of a search.
inline SlowSearch run_search(Fabric& fabric, std::uint64_t seed, unsigned most_rounds = 16) {
  SlowSearch search{
      .map = fabric.map, .options = {.most_rounds = most_rounds, .seed = seed}, .rounds = {}};
  for (auto pairs = next_round(search); !pairs.empty(); pairs = next_round(search))
    search.rounds.push_back(fabric.measure(pairs));
  return search;
}

inline std::vector<std::uint32_t> slow_of(const std::vector<PartState>& parts) {
  std::vector<std::uint32_t> list;
  for (std::uint32_t i = 0; i < parts.size(); ++i)
    if (parts[i].standing == Standing::slow) list.push_back(i);
  return list;
}

}  // namespace gpuready::fleet::test
