// visit_fields() of the types of compare.h.
#pragma once

#include "bench/compare.h"
#include "value/field.h"
#include "value/names.h"

namespace gpuready {

template <>
inline constexpr auto kNames<bench::Kpi> = std::to_array<Named<bench::Kpi>>({
    {bench::Kpi::p50, "p50"},
    {bench::Kpi::p95, "p95"},
    {bench::Kpi::throughput, "throughput"},
    {bench::Kpi::energy, "energy"},
    {bench::Kpi::memory, "memory"},
});
template <>
inline constexpr auto kNames<bench::Outcome> = std::to_array<Named<bench::Outcome>>({
    {bench::Outcome::faster, "faster"},
    {bench::Outcome::slower, "slower"},
    {bench::Outcome::same, "same"},
    {bench::Outcome::inconclusive, "inconclusive"},
    {bench::Outcome::lost, "lost"},
});

namespace bench {

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<KpiComparison>) {
  using T = KpiComparison;
  visit.about("bench_kpi", "One figure, base against candidate.");
  FIELD(kpi,
        "p50 and p95 of an iteration, in nanoseconds; throughput, in elements a second; energy of "
        "an iteration, in mJ; memory at the peak, in B.");
  FIELD(outcome,
        "faster (better; for energy and memory: less), slower, same within the margin, or "
        "inconclusive; lost is used only for whole stacks.");
  FIELD(reason, "Why there is no figure, or what would decide.");
  FIELD(base_value, "Median over the base's runs.", {.unit = "the KPI's unit"});
  FIELD(candidate_value, "Median over the candidate's runs.", {.unit = "the KPI's unit"});
  FIELD(base_runs, "Runs of the base that have it.");
  FIELD(candidate_runs, "Runs of the candidate that have it.");
  FIELD(gain_percent, "How much better the candidate is; negative: worse.");
  FIELD(low_percent, "The interval's lower end, simultaneous with those of the other KPIs.");
  FIELD(high_percent, "The interval's upper end.");
  FIELD(p, "The chance of such a difference where there is none.", {.unit = "1"});
  FIELD(adjusted_p, "The same, corrected over all KPIs and stacks.", {.unit = "1"});
  FIELD(design,
        "paired: runs alternated, and either side was first; mixed: no regular order; regular: the "
        "same side was first in each pair, and in_blocks: one side after the "
        "other, so that a linear drift is taken out.");
  FIELD(method,
        "student_t: differences of pairs; trend_adjusted_t: least squares beside a trend in time; "
        "welch_t: means of the sides; bootstrap_t: one of these, resampled.");
  FIELD(base_spread_percent, "Standard deviation from run to run of the base.");
  FIELD(candidate_spread_percent, "Standard deviation from run to run of the candidate.");
  FIELD(further_runs, "Further runs a side that would decide, if all goes on like this.");
  FIELD(run_gains_percent,
        "In time: the gain of each pair where runs alternated, else of each run of the candidate "
        "over the base's median.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<Losses>) {
  using T = Losses;
  visit.about("bench_losses", "What of a stack's runs does not count.");
  FIELD(runs, "Runs of the side.");
  FIELD(lost_runs, "Runs without any figure of the stack.");
  FIELD(repeats, "Repeats of these runs, as asked for.");
  FIELD(lost_repeats, "Repeats that failed, have no valid sample or are missing.");
  FIELD(failures,
        "Of the lost runs and repeats, those that the stack itself failed: errors, other work and "
        "times that cannot be true.");
  FIELD(throttled_samples, "Samples taken under throttling.");
  FIELD(reasons, "What is lost and why, with its number.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<StackComparison>) {
  using T = StackComparison;
  visit.about("bench_stack_comparison", "One stack of the base against one of the candidate.");
  FIELD(base_stack, "The stack of the base.");
  FIELD(candidate_stack, "The stack of the candidate.");
  FIELD(outcome,
        "faster: better in at least one KPI and worse in none; slower: the reverse; same "
        "and inconclusive: as the first KPI; inconclusive also where KPIs disagree or the base has "
        "no figure of it; lost: the base has figures of it, and no run of the candidate has one.");
  FIELD(reason, "Which KPIs decide, or what is missing.");
  FIELD(base_losses, "What of the base does not count.");
  FIELD(candidate_losses, "What of the candidate does not count.");
  FIELD(kpis, "By KPI; absent where a side has no figure of the stack.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<Difference>) {
  using T = Difference;
  visit.about("bench_difference", "What differs between the runs and may change results.");
  FIELD(what,
        "gpu, driver, workload, dtype, device, protocol, cuda, kernel, os, cpu, tool, commit, "
        "flags, the name of an environment variable or of another recorded field; of a stack with "
        "the stack's name: torch_eager versions.");
  FIELD(base, "On the base's side.");
  FIELD(candidate, "On the candidate's side.");
  FIELD(refused, "Whether it forbids the comparison.");
  FIELD(mixed, "Whether a side has several values.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<ComparedSide>) {
  using T = ComparedSide;
  visit.about("bench_side", "The runs of one side.");
  FIELD(name, "As it was named.");
  FIELD(runs, "Ids of its runs, in time.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<Comparison>) {
  using T = Comparison;
  visit.about("bench_comparison", "Two sides of runs, compared.");
  FIELD(base, "What it is compared with.", {.always = true});
  FIELD(candidate, "What is compared.", {.always = true});
  FIELD(differences, "What differs between the runs.");
  FIELD(margin_percent, "Differences up to this are as good as none.");
  FIELD(error_percent, "The chance of any verdict faster or slower where nothing differs.");
  FIELD(normalised, "Whether shares of each machine's roofline were compared.");
  FIELD(stacks, "By stack; absent where a difference forbids it.");
}

}  // namespace bench
}  // namespace gpuready
