#include "bench/compare/promote.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace gpuready::bench {
namespace {

std::string gain_text(const KpiComparison& kpi) {
  return fmt::format("{} by {:.2f}% ({:.2f}% to {:.2f}%)", name_of(kpi.kpi),
                     kpi.gain_percent.value_or(0), kpi.low_percent.value_or(0),
                     kpi.high_percent.value_or(0));
}

// What stands against a gain in one KPI, and whether more runs may help.
struct Judgement {
  Decision decision = Decision::promote;
  std::vector<std::string> reasons;
  std::optional<std::uint64_t> further_runs;

  void against(Decision how, std::string reason) {
    // What more runs cannot mend outweighs what they can.
    if (decision != Decision::reject) decision = how;
    reasons.push_back(std::move(reason));
  }
};

// Intervals shrink with the root of the number of runs.
std::optional<std::uint64_t> runs_until_above(const KpiComparison& kpi, double least_percent) {
  const double above = *kpi.gain_percent - least_percent;
  const double half = *kpi.gain_percent - *kpi.low_percent;
  const double runs = static_cast<double>(std::min(kpi.base_runs, kpi.candidate_runs));
  if (above <= 0 || !std::isfinite(half)) return std::nullopt;
  const double wanted = std::ceil(runs * (half / above) * (half / above));
  if (wanted > 10'000) return std::nullopt;
  return static_cast<std::uint64_t>(std::max(1.0, wanted - runs));
}

Judgement judge_gain(const KpiComparison& kpi, const PromoteOptions& options) {
  Judgement judgement;
  const double least = options.least_gain * 100, most = options.most_spread * 100;
  const auto name = name_of(kpi.kpi);
  if (*kpi.high_percent < least)
    judgement.against(Decision::reject, fmt::format("{}: a gain of {:g}% or more is ruled out",
                                                    gain_text(kpi), least));
  for (std::size_t i = 0; i < kpi.run_gains_percent.size(); ++i)
    if (kpi.run_gains_percent[i] <= 0) {
      judgement.against(Decision::reject,
                        fmt::format("{} did not gain in run {} of {} ({:+.2f}%)", name, i + 1,
                                    kpi.run_gains_percent.size(), kpi.run_gains_percent[i]));
      break;
    }
  const double spread = kpi.candidate_spread_percent.value_or(0);
  const double spread_of_base = kpi.base_spread_percent.value_or(0);
  if (spread > most && spread_of_base > most)
    judgement.against(
        Decision::need_more_runs,
        fmt::format("{} varies from run to run by {:.1f}% on both sides, more than {:g}%: the "
                    "machine is not quiet",
                    name, std::min(spread, spread_of_base), most));
  else if (spread > most)
    judgement.against(Decision::reject,
                      fmt::format("the candidate's {} varies from run to run by {:.1f}%, more than "
                                  "{:g}%; the base's by {:.1f}%",
                                  name, spread, most, spread_of_base));
  const bool sure = kpi.outcome == Outcome::faster && *kpi.low_percent > least;
  if (!sure && judgement.decision != Decision::reject) {
    judgement.further_runs = runs_until_above(kpi, least);
    judgement.against(Decision::need_more_runs,
                      fmt::format("{}: not surely above {:g}%", gain_text(kpi), least));
  }
  if (judgement.decision == Decision::promote)
    judgement.reasons.push_back(fmt::format("gain in {}, in each of {} runs", gain_text(kpi),
                                            kpi.run_gains_percent.size()));
  return judgement;
}

// What is lost is no evidence, and what is left of it may be the better part: whether all is there.
bool judge_losses(Promotion& result, const StackComparison& stack) {
  for (const auto* losses : {&stack.base_losses, &stack.candidate_losses}) {
    if (!losses->any()) continue;
    for (const auto& reason : losses->reasons)
      result.reasons.push_back(
          fmt::format("{}: {}", losses == &stack.base_losses ? "base" : "candidate", reason));
  }
  if (stack.candidate_losses.failures > 0) result.decision = Decision::reject;
  return !stack.base_losses.any() && !stack.candidate_losses.any();
}

void judge(Promotion& result, const StackComparison& stack, const PromoteOptions& options) {
  for (const auto& kpi : stack.kpis)
    if (kpi.outcome == Outcome::slower) {
      result.decision = Decision::reject;
      result.reasons.push_back("worse in " + gain_text(kpi));
    }
  if (result.decision == Decision::reject) return;
  // The best that any KPI gives: a promotion, else what more runs may become one.
  std::optional<Judgement> best;
  for (const auto& kpi : stack.kpis) {
    const bool wanted = options.kpis.empty() || std::find(options.kpis.begin(), options.kpis.end(),
                                                          kpi.kpi) != options.kpis.end();
    const bool enough = std::min(kpi.base_runs, kpi.candidate_runs) >= options.least_runs;
    if (!wanted || !enough || !kpi.low_percent) continue;
    auto judgement = judge_gain(kpi, options);
    const auto rank = [](const Judgement& it) {
      return it.decision == Decision::promote ? 0 : it.decision == Decision::reject ? 2 : 1;
    };
    if (!best || rank(judgement) < rank(*best)) best = std::move(judgement);
  }
  if (!best) {
    result.reasons.push_back("no KPI that is to gain was measured on both sides");
    return;
  }
  result.decision = best->decision;
  result.reasons = std::move(best->reasons);
  result.further_runs = best->further_runs;
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
  compared.margin = std::min(options.least_gain, compared.margin);
  result.comparison = TRY(compare(base, candidate, compared));
  result.least_gain_percent = options.least_gain * 100;
  result.most_spread_percent = options.most_spread * 100;
  if (options.idea) {
    result.idea = *options.idea;
    bool changed = false;
    for (auto& difference : result.comparison.differences) {
      // A side that is not of one piece is not an idea, whatever it is called.
      difference.refused |= difference.what != *options.idea || difference.mixed;
      changed |= difference.what == *options.idea;
    }
    if (!changed)
      return fail(ErrorKind::bad_input,
                  fmt::format("the candidate does not change {}: it is the same in {} and {}",
                              *options.idea, base.name, candidate.name));
  }
  if (result.refused()) {
    result.reasons.push_back("the runs differ in more than what is to be judged");
    return result;
  }
  if (judge_lost_stacks(result)) return result;
  const StackComparison& stack = *TRY(stack_to_judge(result.comparison));
  add_missing_runs(result, stack, options.least_runs);
  if (judge_losses(result, stack) && result.reasons.empty()) judge(result, stack, options);
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
