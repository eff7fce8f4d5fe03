#include "bench/compare/promote.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "bench/compare/noise.h"

namespace gpuready::bench {
namespace {

std::string gain_text(const KpiComparison& kpi) {
  if (kpi.runs_for_interval)
    return fmt::format("{} by {:.2f}% (too few runs for an interval: {} of at least {})",
                       name_of(kpi.kpi), kpi.gain_percent.value_or(0),
                       std::min(kpi.base_runs, kpi.candidate_runs), *kpi.runs_for_interval);
  return fmt::format("{} by {:.2f}% ({:.2f}% to {:.2f}%)", name_of(kpi.kpi),
                     kpi.gain_percent.value_or(0), kpi.low_percent.value_or(0),
                     kpi.high_percent.value_or(0));
}

// A gain above `least`, or a loss, that two states explain, too.
bool may_be_states(const KpiComparison& kpi, double least) {
  return kpi.runs_for_states && (*kpi.low_percent > least || *kpi.high_percent < 0);
}

// Of one with `runs_for_states`.
std::string states_text(const KpiComparison& kpi) {
  return too_few_to_tell_states("runs", std::min(kpi.base_runs, kpi.candidate_runs),
                                *kpi.runs_for_states);
}
std::optional<std::uint64_t> runs_until_states(const KpiComparison& kpi) {
  return *kpi.runs_for_states - std::min(kpi.base_runs, kpi.candidate_runs);
}

// Intervals shrink with the root of the number of runs.
std::optional<std::uint64_t> runs_until_above(const KpiComparison& kpi, double low, double least) {
  const double above = *kpi.gain_percent - least, half = *kpi.gain_percent - low;
  const double runs = static_cast<double>(std::min(kpi.base_runs, kpi.candidate_runs));
  if (above <= 0 || !std::isfinite(half)) return std::nullopt;
  const double wanted = std::ceil(runs * (half / above) * (half / above));
  if (wanted > 10'000) return std::nullopt;
  return static_cast<std::uint64_t>(std::max(1.0, wanted - runs));
}

// The cure of an --idea that names nothing that differs.
std::string what_changes(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const auto& difference : comparison.differences) names.push_back(difference.what);
  if (names.empty())
    return "Nothing that was recorded differs; leave --idea out to judge the runs as they are";
  return fmt::format("These differ: {}; give one of them, or leave --idea out", join(names, ", "));
}

// What is lost is no evidence, and what is left of it may be the better part: whether all is there.
bool judge_losses(Promotion& result, const StackComparison& stack) {
  for (const auto* losses : {&stack.base_losses, &stack.candidate_losses}) {
    if (!losses->any()) continue;
    for (const auto& reason : losses->reasons)
      result.reasons.push_back(
          fmt::format("{}: {}", losses == &stack.base_losses ? "base" : "candidate", reason));
  }
  if (stack.candidate_losses.failures > 0) {
    result.decision = Decision::reject;
    if (stack.base_losses.failures > 0)
      result.reasons.insert(result.reasons.begin(), "the stack failed on both sides");
  }
  return !stack.base_losses.any() && !stack.candidate_losses.any();
}

bool wanted(const PromoteOptions& options, Kpi kpi) {
  return options.kpis.empty() || std::ranges::find(options.kpis, kpi) != options.kpis.end();
}

// From here on, runs show how noisy they are.
constexpr std::size_t kRunsToShowNoise = 5;

// Why the runs that are to be made would not rule out this loss even if nothing differed.
std::optional<std::string> out_of_reach(const KpiComparison& kpi, double most,
                                        const PromoteOptions& options) {
  const auto have = std::min(kpi.base_runs, kpi.candidate_runs);
  if (have < kRunsToShowNoise || *kpi.reach_percent <= most) return std::nullopt;
  return fmt::format(
      "it varies by {:.1f}% from run to run, so {} runs a side rule out a loss from {:.0f}% on, "
      "and "
      "{:g}% is allowed. Time each run longer (--iters, --repeats), make more runs, or give it up: "
      "--allow-loss {}={:.0f}, or =none",
      std::max(*kpi.base_spread_percent, *kpi.candidate_spread_percent),
      std::max<std::uint64_t>(options.compare.reach.runs, have), *kpi.reach_percent, most,
      name_of(kpi.kpi), std::ceil(*kpi.reach_percent));
}

// What no KPI may lose: each is asked at the whole risk, since all must answer well.
void judge_allowances(Promotion& result, const StackComparison& stack,
                      const PromoteOptions& options) {
  for (const auto& kpi : stack.kpis) {
    const auto allowed = options.allowances.find(kpi.kpi);
    if (allowed == options.allowances.end()) continue;
    if (!kpi.alone_low_percent) {
      result.unguarded.push_back({kpi.kpi, kpi.reason});
      continue;
    }
    const double most = allowed->second * 100;
    // Equal counts of memory have no noise.
    const bool equal = kpi.outcome == Outcome::same && std::fabs(*kpi.gain_percent) < 1e-9;
    if (equal || *kpi.alone_low_percent >= -most) continue;
    const bool is_lost = *kpi.alone_high_percent < -most;
    if (is_lost && kpi.runs_for_states) {
      result.reasons.push_back(gain_text(kpi) + ": " + states_text(kpi));
      result.further_runs = std::max(result.further_runs, runs_until_states(kpi));
      continue;
    }
    if (is_lost) {
      result.decision = Decision::reject;
      result.reasons.push_back(
          fmt::format("worse in {}: at most {:g}% is allowed", gain_text(kpi), most));
      continue;
    }
    if (auto noisy = out_of_reach(kpi, most, options))
      result.too_noisy.push_back({kpi.kpi, std::move(*noisy)});
    result.reasons.push_back(
        fmt::format("{}: a loss of more than {:g}% is not ruled out", gain_text(kpi), most));
    result.further_runs =
        std::max(result.further_runs.value_or(1),
                 runs_until_above(kpi, *kpi.alone_low_percent, -most).value_or(1));
  }
}

void judge(Promotion& result, const StackComparison& stack, const PromoteOptions& options) {
  const double least = options.least_gain * 100;
  judge_allowances(result, stack, options);
  if (result.decision == Decision::reject) return;
  const bool kept = result.reasons.empty();  // nothing is lost
  const KpiComparison *gains = nullptr, *open = nullptr, *ruled_out = nullptr;
  for (const auto& kpi : stack.kpis) {
    const bool enough = std::min(kpi.base_runs, kpi.candidate_runs) >= options.least_runs;
    if (!wanted(options, kpi.kpi) || !enough || !kpi.low_percent) continue;
    const KpiComparison*& place = may_be_states(kpi, least)   ? open
                                  : *kpi.low_percent > least  ? gains
                                  : *kpi.high_percent < least ? ruled_out
                                                              : open;
    if (place == nullptr) place = &kpi;
  }
  if (gains != nullptr) {
    if (kept) result.decision = Decision::promote;
    result.reasons.push_back(fmt::format("gain in {}, above {:g}%", gain_text(*gains), least));
  } else if (open != nullptr) {
    const bool unknown = may_be_states(*open, least);
    result.further_runs =
        std::max(result.further_runs, unknown ? runs_until_states(*open)
                                              : runs_until_above(*open, *open->low_percent, least));
    result.reasons.push_back(
        unknown ? gain_text(*open) + ": " + states_text(*open)
                : fmt::format("{}: not surely above {:g}%", gain_text(*open), least));
  } else if (ruled_out != nullptr) {
    result.decision = Decision::reject;
    result.reasons.push_back(
        fmt::format("{}: a gain of {:g}% or more is ruled out", gain_text(*ruled_out), least));
  } else {
    result.reasons.push_back("no KPI that is to gain was measured on both sides");
  }
}

// A stack that the candidate has no figure of, and the base has: whether there is one.
bool judge_lost_stacks(Promotion& result) {
  for (const auto& stack : result.comparison.stacks)
    if (stack.outcome == Outcome::lost) {
      judge_losses(result, stack);
      result.decision = Decision::reject;
    }
  return result.decision == Decision::reject;
}

// Those that a side never ran are reported in the comparison, and say nothing for or against the
// other.
Result<const StackComparison*> stack_to_judge(const Comparison& comparison) {
  const auto& stacks = comparison.stacks;
  std::vector<const StackComparison*> measured;
  for (const auto& stack : stacks)
    if (!stack.kpis.empty()) measured.push_back(&stack);
  if (measured.size() == 1) return measured.front();
  if (stacks.size() == 1) return &stacks.front();
  std::vector<std::string> names;
  for (const auto& stack : stacks) names.push_back(stack.candidate_stack);
  return fail(ErrorKind::bad_input, fmt::format("the runs have several stacks; name one of {} with "
                                                "--stack",
                                                join(names, ", ")));
}

void add_missing_runs(Promotion& result, const StackComparison& stack, std::size_t least_runs) {
  for (const auto& [name, losses] :
       {std::pair("base", &stack.base_losses), std::pair("candidate", &stack.candidate_losses)})
    if (const auto runs = losses->runs - losses->lost_runs; runs < least_runs) {
      result.reasons.push_back(
          fmt::format("the {} has {} of at least {} runs", name, runs, least_runs));
      result.further_runs =
          std::max(result.further_runs.value_or(0), std::uint64_t{least_runs - runs});
    }
}

}  // namespace

bool Promotion::refused() const { return comparison.refused(); }

Result<Promotion> promote(const Side& base, const Side& candidate, const PromoteOptions& options) {
  Promotion result;
  CompareOptions compared = options.compare;
  compared.error = 2 * kSpent * options.risk * options.share;  // one side of it matters
  compared.reach.error = 2 * kSpent * options.risk;
  if (!options.kpis.empty()) compared.first = options.kpis;
  result.comparison = TRY(compare(base, candidate, compared));
  result.least_gain_percent = options.least_gain * 100;
  result.risk_percent = options.risk * 100;
  if (options.idea) {
    result.idea = *options.idea;
    bool changed = false;
    for (auto& difference : result.comparison.differences) {
      // A side that is not of one piece is not an idea, whatever it is called. What runs read, such
      // as clocks, and what a stack found itself set to may follow from it.
      const bool expected = difference.follows || difference.what == *options.idea;
      difference.refused |= !difference.measured && (!expected || difference.mixed);
      changed |= difference.what == *options.idea;
    }
    if (!changed)
      return fail(
          ErrorKind::bad_input,
          fmt::format("the candidate does not change {}: it is the same in {} and {}. {}",
                      *options.idea, base.name, candidate.name, what_changes(result.comparison)));
  }
  if (result.refused()) {
    result.reasons.push_back("the runs differ in more than what is to be judged");
    return result;
  }
  if (judge_lost_stacks(result)) return result;
  const StackComparison& stack = *TRY(stack_to_judge(result.comparison));
  add_missing_runs(result, stack, options.least_runs);
  if (judge_losses(result, stack) && result.reasons.empty()) judge(result, stack, options);
  if (result.decision == Decision::reject) result.further_runs.reset();  // it is decided
  return result;
}

std::vector<Look> looks_until(std::size_t most_runs, std::size_t least_runs) {
  std::vector<Look> looks;
  const double most = static_cast<double>(most_runs);
  double spent = 0;
  for (std::size_t runs = std::min(least_runs, most_runs);;) {
    // A last step that would be short is taken together with the one before.
    if (static_cast<double>(runs) * 1.25 > most) runs = most_runs;
    const double until_now = std::pow(static_cast<double>(runs) / most, 2);
    looks.push_back({runs, until_now - spent});
    if (runs == most_runs) return looks;
    spent = until_now;
    runs = static_cast<std::size_t>(std::ceil(static_cast<double>(runs) * 1.5));
    runs = std::min(runs, most_runs);
  }
}

}  // namespace gpuready::bench
