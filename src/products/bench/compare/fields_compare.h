// visit_fields() of the types of compare.h.
#pragma once

#include "bench/compare/compare.h"
#include "value/document.h"
#include "value/names.h"

namespace gpuready {

namespace bench {

FIELDS_OF(KpiComparison) {
  visit.about("bench_kpi", "One figure, base against candidate.");
  FIELD(kpi,
        "p50 and p95 of an iteration, in nanoseconds; throughput, in elements a second; energy of "
        "an iteration, in mJ; memory at the peak, in B.");
  FIELD(outcome,
        "faster (better; for energy and memory: less), slower, same within the margin, or "
        "inconclusive; lost is used only for whole stacks.");
  FIELD(reason, "Why there is no figure, or what would decide.");
  FIELD(base_value, "Geometric mean over the base's runs.", {.unit = "the KPI's unit"});
  FIELD(candidate_value, "Geometric mean over the candidate's runs.", {.unit = "the KPI's unit"});
  FIELD(base_runs, "Runs of the base that have it.");
  FIELD(candidate_runs, "Runs of the candidate that have it.");
  FIELD(gain_percent, "How much better the candidate is; negative: worse.");
  FIELD(low_percent, "The interval's lower end, simultaneous with those of the other KPIs.");
  FIELD(high_percent, "The interval's upper end.");
  FIELD(alone_low_percent, "The lower end of the interval of this KPI and no other.");
  FIELD(alone_high_percent, "Its upper end.");
  FIELD(p, "The chance of such a difference where there is none.", {.unit = "1"});
  FIELD(adjusted_p, "The same, corrected over all KPIs and stacks.", {.unit = "1"});
  FIELD(reach_percent,
        "The loss that 12 runs a side (of bench loop: its maximum) would rule out if nothing "
        "differed; more, if there are more.");
  FIELD(design,
        "paired: runs alternated, and either side was first; mixed: no regular order; regular: the "
        "same side was first in each pair, and in_blocks: one side after the "
        "other, so that a linear drift is taken out.");
  FIELD(method,
        "student_t: differences of pairs; trend_adjusted_t: least squares beside a trend in time; "
        "welch_t: means of the sides.");
  FIELD(runs_for_interval,
        "Runs a side from which on the interval would be of use; present if it includes \"no "
        "difference\" and is wider than half to twice.");
  FIELD(learned, "What the noise was learned from in addition to these runs.");
  FIELD(base_spread_percent, "Standard deviation from run to run of the base.");
  FIELD(candidate_spread_percent, "Standard deviation from run to run of the candidate.");
  FIELD(further_runs, "Further runs a side that would decide, if all goes on like this.");
  FIELD(base_states, "Medians of two levels between which the base's runs change, if they do.",
        {.unit = "the KPI's unit"});
  FIELD(candidate_states, "The same of the candidate.", {.unit = "the KPI's unit"});
  FIELD(runs_for_states,
        "Runs a side that would tell a difference from that of a machine that changes between two "
        "states, such as clocks or layouts of memory; present if they are too few.");
  FIELD(run_gains_percent,
        "In time: the gain of each pair where runs alternated, else of each run of the candidate "
        "over the base's value.");
}

FIELDS_OF(Losses) {
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

FIELDS_OF(StackComparison) {
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

FIELDS_OF(Difference) {
  visit.about("bench_difference", "What differs between the runs and may change results.");
  FIELD(what,
        "gpu, driver, workload, dtype, device, protocol, load, cuda, kernel, os, cpu, tool, "
        "commit, flags, the name of an environment variable or of another recorded field; of a "
        "stack with "
        "the stack's name: torch_eager versions.");
  FIELD(base, "On the base's side.");
  FIELD(candidate, "On the candidate's side.");
  FIELD(refused, "Whether it forbids the comparison.");
  FIELD(mixed, "Whether a side has several values.");
  FIELD(measured, "Whether means of what each run read are compared: more runs may change it.");
  FIELD(follows, "Whether a stack says so of itself: what was changed may be the cause.");
}

FIELDS_OF(ComparedSide) {
  visit.about("bench_side", "The runs of one side.");
  FIELD(name, "As it was named.");
  FIELD(runs, "Ids of its runs, in time.");
}

FIELDS_OF(Comparison) {
  visit.about("bench_comparison", "Two sides of runs, compared.");
  FIELD(base, "What it is compared with.", kAlways);
  FIELD(candidate, "What is compared.", kAlways);
  FIELD(differences, "What differs between the runs.");
  FIELD(margin_percent, "Differences up to this are as good as none.");
  FIELD(error_percent, "The chance of any verdict faster or slower where nothing differs.");
  FIELD(normalised, "Whether shares of each machine's roofline were compared.");
  FIELD(stacks, "By stack; absent where a difference forbids it.");
}

}  // namespace bench
DOCUMENT_OF(
    bench::Comparison, "bench-compare", "Benchmark runs, compared",
    "Is the candidate faster than the base? Verdicts with intervals. Units are in the names of "
    "the keys.",
    "0: no stack is slower; 1: one is; 2: the runs cannot be compared; 4: not decided.",
    "comparison", "What was compared, and what was found.");

}  // namespace gpuready
