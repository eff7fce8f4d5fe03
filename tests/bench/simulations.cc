// How often is `bench compare` wrong? Comparisons of simulated runs whose truth is known, counted.
// usage: simulations [COUNT [PART]]: comparisons of each kind, 1000 if not given; of one part
// alone: alike, loop, promote or different.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "bench/compare/promote.h"
#include "bench/noise.h"

namespace gpuready::bench {
namespace {

struct NoiseKind : Noise {
  double found;  // the share of true 2% that is found at least (docs/performance.md)
};
constexpr NoiseKind kNoises[] = {
    {{.name = "independent 1%", .white = 0.01}, 0.69},
    {{.name = "correlated 0.5", .correlated = 0.01, .correlation = 0.5}, 0.88},
    {{.name = "correlated 0.9", .correlated = 0.01, .correlation = 0.9}, 0.99},
    {{.name = "drift 0.3% a run", .white = 0.005, .drift = 0.003}, 0.99},
    {{.name = "walk 0.3% a run", .white = 0.005, .walk = 0.003}, 0.98},
    {{.name = "2% shared by pairs", .white = 0.003, .shared = 0.02}, 0.99},
    {{.name = "outliers", .white = 0.003, .outliers = 0.1}, 0.40},
};

struct Counts {
  int faster = 0, slower = 0, same = 0, any_kpi = 0;  // of these, any KPI told apart
};

Counts count(const Noise& noise, Order order, std::size_t runs, double gain, int comparisons) {
  Counts counts;
  for (int i = 0; i < comparisons; ++i) {
    const auto sides =
        simulate(noise, order, runs, gain, 1'000'003ull * static_cast<unsigned>(i) + runs);
    const auto result = compare(sides.base, sides.candidate, {});
    const StackComparison& stack = result.value().stacks.at(0);
    counts.faster += stack.outcome == Outcome::faster;
    counts.slower += stack.outcome == Outcome::slower;
    counts.same += stack.outcome == Outcome::same;
    counts.any_kpi += std::any_of(stack.kpis.begin(), stack.kpis.end(), [](const auto& kpi) {
      return kpi.outcome == Outcome::faster || kpi.outcome == Outcome::slower;
    });
  }
  return counts;
}

struct Checks {
  int failed = 0;
  // At least `rate`, less what chance takes away from few comparisons.
  void expect_found(int count, int comparisons, double rate, std::string_view what) {
    const double chance = 3 * std::sqrt(rate * (1 - rate) * comparisons);
    const double limit = rate * comparisons - (comparisons >= 1000 ? 0 : chance);
    if (count >= limit) return;
    fmt::print("\nFAILED: {}: {} of {} found, at least {} wanted\n", what, count, comparisons,
               limit);
    ++failed;
  }
  // At most `rate`; of fewer than 10,000 comparisons three standard deviations of chance and one
  // more, since one count of ten in a thousand shows no rate.
  void expect_rate(int count, int comparisons, double rate, std::string_view what) {
    const double expected = rate * comparisons;
    const double limit = comparisons >= 10'000 ? expected : expected + 3 * std::sqrt(expected) + 1;
    if (count <= limit) return;
    fmt::print("\nFAILED: {}: {} of {}\n", what, count, comparisons);
    ++failed;
  }
};

// No difference: any verdict faster or slower of any KPI is false.
void compare_alike(int comparisons, Checks& checks) {
  fmt::print("No difference: false verdicts of {} comparisons (limit 1%)\n{:<20}", comparisons, "");
  struct {
    const char* name;
    Order order;
    std::size_t runs;
  } const kinds[] = {
      {"alternating 3", Order::alternating, 3},
      {"alternating 5", Order::alternating, 5},
      {"alternating 8", Order::alternating, 8},
      {"alternating 12", Order::alternating, 12},
      {"alternating 20", Order::alternating, 20},
      {"shuffled 8", Order::shuffled, 8},
      {"blocks 4", Order::blocks, 4},
      {"regular 8", Order::regular, 8},
      {"blocks 8", Order::blocks, 8},
  };
  for (const auto& kind : kinds) fmt::print(" {:>14}", kind.name);
  fmt::print("\n");
  for (const auto& noise : kNoises) {
    fmt::print("{:<20}", noise.name);
    for (const auto& kind : kinds) {
      const auto counts = count(noise, kind.order, kind.runs, 0, comparisons);
      fmt::print(" {:>14}", counts.any_kpi);
      std::fflush(stdout);
      checks.expect_rate(counts.any_kpi, comparisons, 0.01,
                         fmt::format("{}, {}", noise.name, kind.name));
    }
    fmt::print("\n");
  }
}

// The same through the looks of a loop: a verdict at any look is one too many.
void loop_alike(int comparisons, Checks& checks) {
  const auto looks = looks_until(12);
  fmt::print(
      "No difference, a loop of up to 12 runs a side that stops at the first verdict: false\n"
      "verdicts of {} (limit 1%), false promotions (limit 0.1%)\n",
      comparisons);
  for (const auto& noise : kNoises) {
    int verdicts = 0, promotions = 0;
    for (int i = 0; i < comparisons; ++i) {
      const auto all = simulate(noise, Order::alternating, 12, 0, 7'000'003ull * unsigned(i) + 5);
      bool verdict = false, promoted = false;
      for (const auto& look : looks) {
        Side base{"base", {}}, candidate{"candidate", {}};
        base.runs.assign(all.base.runs.begin(), all.base.runs.begin() + std::ptrdiff_t(look.runs));
        candidate.runs.assign(all.candidate.runs.begin(),
                              all.candidate.runs.begin() + std::ptrdiff_t(look.runs));
        CompareOptions at_look;
        at_look.error *= look.share;
        const auto outcome = compare(base, candidate, at_look)->stacks.at(0).outcome;
        verdict |= outcome == Outcome::faster || outcome == Outcome::slower;
        PromoteOptions rule;
        rule.compare.error *= look.share;
        promoted |= promote(base, candidate, rule)->decision == Decision::promote;
      }
      verdicts += verdict;
      promotions += promoted;
    }
    fmt::print("{:<20} {:>14} {:>14}\n", noise.name, verdicts, promotions);
    std::fflush(stdout);
    checks.expect_rate(verdicts, comparisons, 0.01, fmt::format("loop, {}", noise.name));
    checks.expect_rate(promotions, comparisons, 0.001, fmt::format("promotion, {}", noise.name));
  }
}

// Promotion in one look: for nothing, and of a true gain.
void promote_once(int comparisons, Checks& checks) {
  fmt::print("Promotions of {}: no difference (limit 0.1%), and 5% faster\n{:<20}", comparisons,
             "");
  constexpr std::size_t kRuns[] = {3, 5, 8};
  for (const double gain : {0.0, 0.05})
    for (const auto runs : kRuns) fmt::print(" {:>6} {}%", runs, gain * 100);
  fmt::print("\n");
  for (const auto& noise : kNoises) {
    fmt::print("{:<20}", noise.name);
    for (const double gain : {0.0, 0.05})
      for (const auto runs : kRuns) {
        int promotions = 0;
        for (int i = 0; i < comparisons; ++i) {
          const auto sides =
              simulate(noise, Order::alternating, runs, gain, 3'000'017ull * unsigned(i) + runs);
          promotions += promote(sides.base, sides.candidate, {})->decision == Decision::promote;
        }
        fmt::print(" {:>9}", promotions);
        std::fflush(stdout);
        if (gain == 0)
          checks.expect_rate(promotions, comparisons, 0.001,
                             fmt::format("promotion at {} runs, {}", runs, noise.name));
      }
    fmt::print("\n");
  }
}

// A difference: how often it is found.
void compare_different(int comparisons, Checks& checks) {
  fmt::print("2% faster, 8 alternating runs a side: found in {} comparisons\n", comparisons);
  for (const auto& noise : kNoises) {
    const auto counts = count(noise, Order::alternating, 8, 0.02, comparisons);
    fmt::print("{:<20} {:>14} wrong way {}\n", noise.name, counts.faster, counts.slower);
    std::fflush(stdout);
    checks.expect_found(counts.faster, comparisons, noise.found, noise.name);
    checks.expect_rate(counts.slower, comparisons, 0.001, noise.name);
  }
}

}  // namespace
}  // namespace gpuready::bench

int main(int argc, char** argv) {
  using namespace gpuready::bench;
  const auto asked = argc > 1 ? gpuready::parse_uint(argv[1]) : 1000;
  if (!asked || *asked < 100 || *asked > 1'000'000) {
    fmt::print(stderr, "usage: simulations [COUNT [PART]], COUNT 100 to 1000000\n");
    return 2;
  }
  constexpr std::pair<std::string_view, void (*)(int, Checks&)> kParts[] = {
      {"alike", compare_alike},
      {"loop", loop_alike},
      {"promote", promote_once},
      {"different", compare_different},
  };
  Checks checks;
  for (const auto& [name, part] : kParts)
    if (argc < 3 || name == argv[2]) part(static_cast<int>(*asked), checks);
  return checks.failed == 0 ? 0 : 1;
}
