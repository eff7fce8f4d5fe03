// visit_fields() of the types of promote.h.
#pragma once

#include "bench/compare/fields_compare.h"
#include "bench/compare/promote.h"

namespace gpuready {

namespace bench {

FIELDS_OF(WeakGuard) {
  visit.about("bench_weak_guard", "A figure whose loss is not known.");
  FIELD(kpi, "p50, p95, throughput, energy or memory.", kAlways);
  FIELD(reason, "Why, and the cure.", kAlways);
}

FIELDS_OF(Promotion) {
  visit.about("bench_promotion", "Whether the candidate may replace the base.");
  FIELD(decision, "promote, reject or need_more_runs.");
  FIELD(reasons, "Why.", kAlways);
  FIELD(further_runs, "Further runs a side after which it may be decided.");
  FIELD(unguarded, "Figures whose allowance was not tested, since a side does not have them.");
  FIELD(too_noisy,
        "Figures that forbid a promotion because no foreseen number of runs rules out their loss.");
  FIELD(idea, "The one thing that the candidate was to change.");
  FIELD(least_gain_percent, "What a gain must be above.");
  FIELD(risk_percent, "The chance of a promotion that the truth does not deserve.");
  FIELD(comparison, "The evidence; where an idea is named, each other difference is refused.",
        kAlways);
}

}  // namespace bench
DOCUMENT_OF(
    bench::Promotion, "bench-promote", "Whether a benchmarked change may be kept",
    "May the candidate replace the base? Units are in the names of the keys.",
    "0: promote; 1: reject; 2: the runs differ in more than what is to be judged; 4: more runs "
    "are needed.",
    "promotion", "The decision, its reasons and its evidence.");

}  // namespace gpuready
