// How often the search for slow nodes names just what is slow, and after how many rounds, in
// simulated fleets, beside other methods in the same fleets and the least number of rounds that
// answers of pairs can do with. For docs/performance.md.
//   bench_slow_nodes [RUNS [NODES]]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/statistics.h"
#include "unit/products/fleet/slow/simulated_fabric.h"

using namespace gpuready;
using namespace gpuready::fleet;
using test::Fabric;

namespace {

struct Found {
  std::vector<std::uint32_t> nodes, groups;
  unsigned links = 0;  // that are not slow
  unsigned rounds = 0;
};

std::uint32_t size_of(const auto& list) { return static_cast<std::uint32_t>(list.size()); }

Found search(Fabric& fabric, std::uint64_t seed) {
  const SlowSearch done = test::run_search(fabric, seed);
  const Judgement state = judge(done);
  Found found{.nodes = test::slow_of(state.nodes.parts),
              .groups = test::slow_of(state.groups.parts),
              .rounds = size_of(done.rounds)};
  for (const auto* links : {&state.links, &state.groups.links})
    for (const LinkState& link : *links)
      found.links += link.standing == Standing::slow && !fabric.link.contains(link.pair);
  return found;
}

// A rule of others: slower than the middle by 5%.
constexpr double kRule = 0.95;

std::vector<std::uint32_t> shuffled(Fabric& fabric, std::uint32_t number) {
  std::vector<std::uint32_t> list(number);
  for (std::uint32_t i = 0; i < number; ++i) list[i] = i;
  for (std::size_t i = number; i > 1; --i)
    std::swap(list[i - 1],
              list[static_cast<std::size_t>(fabric.uniform() * static_cast<double>(i))]);
  return list;
}

double middle(const std::vector<PairRate>& rates) {
  std::vector<double> values;
  for (const PairRate& pair : rates)
    if (pair.rate) values.push_back(*pair.rate);
  return median(std::move(values));
}

// Random pairs, then those that look slow with nodes that passed.
Found random_pairs(Fabric& fabric, std::uint64_t) {
  const auto order = shuffled(fabric, size_of(fabric.node));
  std::vector<IndexPair> pairs;
  for (std::size_t i = 1; i < order.size(); i += 2)
    pairs.push_back(ordered(order[i - 1], order[i]));
  const auto first = fabric.measure(pairs);
  const double usual = middle(first);
  std::vector<std::uint32_t> suspects, passed;
  for (const PairRate& pair : first)
    for (const auto node : {pair.a, pair.b})
      (pair.rate.value_or(0) < kRule * usual ? suspects : passed).push_back(node);
  pairs.clear();
  for (std::size_t i = 0; i < std::min(suspects.size(), passed.size()); ++i)
    pairs.push_back({suspects[i], passed[i]});
  Found found{.nodes = {}, .groups = {}, .rounds = 2};
  for (const PairRate& pair : fabric.measure(pairs))
    if (pair.rate.value_or(0) < kRule * usual) found.nodes.push_back(pair.a);
  std::ranges::sort(found.nodes);
  return found;
}

// A tournament of all pairs; a node is slow whose middle pair is.
Found all_pairs(Fabric& fabric, std::uint64_t) {
  const std::uint32_t number = size_of(fabric.node);
  std::vector<std::vector<double>> shares(number);
  for (std::uint32_t round = 0; round + 1 < number; ++round) {
    std::vector<IndexPair> pairs = {ordered(round, number - 1)};
    for (std::uint32_t i = 1; i < number / 2; ++i)
      pairs.push_back(ordered((round + i) % (number - 1), (round + number - 1 - i) % (number - 1)));
    const auto rates = fabric.measure(pairs);
    const double usual = middle(rates);
    for (const PairRate& pair : rates)
      for (const auto node : {pair.a, pair.b}) shares[node].push_back(*pair.rate / usual);
  }
  Found found{.nodes = {}, .groups = {}, .rounds = number - 1};
  for (std::uint32_t node = 0; node < number; ++node)
    if (median(shares[node]) < kRule) found.nodes.push_back(node);
  return found;
}

// Halving: all nodes of a set measure together and are as slow as their slowest; each slow set is
// halved. The fastest set so far is usual.
Found halving(Fabric& fabric, std::uint64_t) {
  const auto order = shuffled(fabric, size_of(fabric.node));
  std::vector<std::pair<std::size_t, std::size_t>> sets = {{0, order.size()}};
  Found found{.nodes = {}, .groups = {}, .rounds = 0};
  double usual = 0;
  while (!sets.empty()) {
    std::vector<std::pair<std::pair<std::size_t, std::size_t>, double>> measured;
    for (const auto& [from, to] : sets)
      for (const auto& half : {std::pair{from, (from + to) / 2}, std::pair{(from + to) / 2, to}}) {
        double rate = 1;
        for (std::size_t i = half.first; i < half.second; ++i)
          rate = std::min(rate, fabric.node[order[i]]);
        measured.emplace_back(half, rate * (1 + fabric.noise * fabric.normal()));
        usual = std::max(usual, measured.back().second);
      }
    ++found.rounds;
    sets.clear();
    for (const auto& [set, rate] : measured)
      if (rate < kRule * usual) {
        if (set.second - set.first == 1)
          found.nodes.push_back(order[set.first]);
        else
          sets.push_back(set);
      }
  }
  std::ranges::sort(found.nodes);
  return found;
}

void nodes(Fabric& fabric, std::uint32_t slow) {
  for (const auto node : fabric.some(slow, size_of(fabric.node))) fabric.node[node] = 0.9;
}
void groups(Fabric& fabric, std::uint32_t slow) {
  for (const auto group : fabric.some(slow, size_of(fabric.uplink))) fabric.uplink[group] = 0.9;
}

struct Cell {
  const char* name;
  void (*prepare)(Fabric&, std::uint32_t slow);
  std::vector<std::uint32_t> slow = {1, 2, 3};
  Found (*method)(Fabric&, std::uint64_t seed) = search;
  unsigned most_runs = UINT32_MAX;
  bool any_node_zero = false;  // either answer is right for it
};

const Cell kCells[] = {
    {.name = "nodes", .prepare = nodes, .slow = {0, 1, 2, 3}},
    {.name = "groups", .prepare = groups},
    {"nodes, uplinks 2:1", [](Fabric& f, std::uint32_t n) { nodes(f, n), f.uplinks = 0.5; }},
    {"groups, uplinks 2:1", [](Fabric& f, std::uint32_t n) { groups(f, n), f.uplinks = 0.5; }},
    {"groups, spine 2:1", [](Fabric& f, std::uint32_t n) { groups(f, n), f.spine = 0.5; }},
    {.name = "nodes; the cable of another flaps",
     .prepare =
         [](Fabric& f, std::uint32_t n) {
           nodes(f, n);
           f.node[0] = 1;
           for (std::uint32_t i = 1; i < size_of(f.node); ++i) f.link[{0, i}] = 0.5;
           f.flaps = true;
         },
     .any_node_zero = true},
    {"nodes; 3 leave, 1 round lost, 0.5% fail",
     [](Fabric& f, std::uint32_t n) {
       nodes(f, n);
       unsigned left = 0;
       for (const auto who : f.some(6, size_of(f.node)))
         if (f.node[who] == 1 && left < 3) f.leave(who, left++);
       f.dies = 1;
       f.fails = 0.005;
     }},
    {"nodes; 0.5% slow by chance",
     [](Fabric& f, std::uint32_t n) { nodes(f, n), f.hiccups = 0.005; }},
    {.name = "nodes, random pairs", .prepare = nodes, .method = random_pairs},
    {.name = "nodes, all pairs", .prepare = nodes, .method = all_pairs, .most_runs = 20},
    {.name = "nodes, halving", .prepare = nodes, .method = halving},
    {.name = "nodes, uplinks 2:1, random pairs",
     .prepare = [](Fabric& f, std::uint32_t n) { nodes(f, n), f.uplinks = 0.5; },
     .method = random_pairs},
    {.name = "nodes, uplinks 2:1, all pairs",
     .prepare = [](Fabric& f, std::uint32_t n) { nodes(f, n), f.uplinks = 0.5; },
     .method = all_pairs,
     .most_runs = 20},
};

// Without noise: which of all sets of `slow` items it is, by rounds of pairs whose answers say
// which pairs are slow. Those are from half of the items to all.
unsigned least_rounds(std::uint32_t items, std::uint32_t slow) {
  if (slow == 0) return 1;  // all must be measured
  const auto choose = [](double n, double k) {
    return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1));
  };
  double answers = 0;
  for (std::uint32_t pairs = (slow + 1) / 2; pairs <= slow; ++pairs)
    answers += choose(items / 2, pairs);
  return static_cast<unsigned>(std::ceil(std::log2(choose(items, slow)) / std::log2(answers)));
}

void run_cell(const Cell& cell, std::uint32_t size, std::uint32_t leaf, std::uint32_t slow,
              unsigned runs) {
  runs = std::min(runs, cell.most_runs);
  unsigned parts = 0, named = 0, false_runs = 0;
  std::vector<double> rounds;
  for (unsigned run = 0; run < runs; ++run) {
    Fabric fabric(size, leaf, 1000003ull * run + size + slow);
    cell.prepare(fabric, slow);
    const Found found = cell.method(fabric, run + 1);
    bool wrong = found.links > 0;
    const auto count = [&](const std::vector<double>& truth, const std::vector<std::uint32_t>& list,
                           bool any_zero) {
      for (std::uint32_t i = 0; i < truth.size(); ++i) {
        const bool is_named = std::ranges::binary_search(list, i);
        if (truth[i] < 1)
          ++parts, named += is_named;
        else if (is_named && !(any_zero && i == 0))
          wrong = true;
      }
    };
    count(fabric.node, found.nodes, cell.any_node_zero);
    count(fabric.uplink, found.groups, false);
    false_runs += wrong;
    rounds.push_back(found.rounds);
  }
  std::ranges::sort(rounds);
  const bool of_groups = std::string_view(cell.name).starts_with("groups");
  fmt::print("| {} | {} | {} | {} | {} | {:.2f}% | {} | {:.1f}, {} |\n", size, cell.name, slow,
             runs, parts == 0 ? "" : fmt::format("{:.2f}%", 100.0 * named / parts),
             100.0 * false_runs / runs, least_rounds(of_groups ? size / leaf : size, slow),
             mean(rounds), rounds[rounds.size() * 99 / 100]);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned runs = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1000;
  const unsigned only = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 0;
  fmt::print(
      "| nodes | slow by 10%, noise 2% | how many | runs | named | runs with a false name | least "
      "rounds | rounds: mean, 99% |\n|---|---|---|---|---|---|---|---|\n");
  for (const auto& [size, leaf] : {std::pair{64u, 8u}, {256u, 16u}, {1024u, 32u}, {232u, 8u}}) {
    if (only != 0 && size != only) continue;
    for (const Cell& cell : kCells)
      for (const std::uint32_t slow : cell.slow) run_cell(cell, size, leaf, slow, runs);
  }
  for (const std::uint32_t size : {3u, 4u, 5u, 6u, 8u, 10u, 12u, 16u, 24u, 32u})
    for (std::uint32_t slow = 0; slow <= 3 && 2 * slow < size && (only == 0 || size == only);
         ++slow)
      run_cell({.name = "few nodes, no topology", .prepare = nodes}, size, 0, slow, runs);
}
