// May the candidate replace the base? One question: is the gain above the wanted threshold, and is
// every other figure within its allowance, at a stated risk? Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/named.h"
#include "bench/compare/compare.h"

namespace gpuready::bench {

enum class Decision { promote, reject, need_more_runs };

// What a KPI may lose at most where it need not gain: 0.02 is 2%.
using Allowances = std::map<Kpi, double>;

struct PromoteOptions {
  CompareOptions compare;  // its error is set from `risk`
  double risk = 0.01;      // of a promotion that the truth does not deserve
  double share = 1;        // of the risk, that this look may spend
  std::size_t least_runs = 3;
  double least_gain = 0.01;  // 0.01 is 1%
  Allowances allowances = {{Kpi::p50, 0.02},
                           {Kpi::p95, 0.1},
                           {Kpi::throughput, 0.05},
                           {Kpi::energy, 0.1},
                           {Kpi::memory, 0.05}};
  std::vector<Kpi> kpis;  // of which one must gain; empty: any
  // The one thing that the candidate may change: "commit", "flags", the name of an environment
  // variable, or what else a Difference is called. Nothing: such differences are reported only.
  std::optional<std::string> idea;
};

struct WeakGuard {
  Kpi kpi = Kpi::p50;
  std::string reason;
};

struct Promotion {
  Decision decision = Decision::need_more_runs;
  std::vector<std::string> reasons;
  std::optional<std::uint64_t> further_runs;  // a side, after which it may be decided
  std::vector<WeakGuard> unguarded;           // a side has no such figure
  std::vector<WeakGuard> too_noisy;           // compare.reach would not rule out a loss: it blocks
  std::string idea;
  double least_gain_percent = 0, risk_percent = 0;
  Comparison comparison;  // of its differences, those beside the idea are refused

  bool refused() const;  // the evidence cannot be used
};

// Errors: as compare(); several stacks, unless options.compare.stacks names one of them.
Result<Promotion> promote(const Side& base, const Side& candidate, const PromoteOptions& options);

// When a loop looks at what it has, and which share of the error each look may spend (their sum is
// 1): few looks, and most of the error for the last, so that looking costs little certainty
// (Lan and DeMets, "Discrete sequential boundaries for clinical trials", 1983; without use of the
// correlation between looks, so that it holds for any test).
struct Look {
  std::size_t runs = 0;  // a side
  double share = 0;
};
std::vector<Look> looks_until(std::size_t most_runs, std::size_t least_runs = 3);

}  // namespace gpuready::bench

namespace gpuready {
NAMES_OF(bench::Decision, "promote", "reject", "need_more_runs");
}  // namespace gpuready
