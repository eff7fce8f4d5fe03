// visit_fields() of the types of history.h.
#pragma once

#include "bench/compare/fields_compare.h"
#include "bench/history/history.h"

namespace gpuready::bench {

FIELDS_OF(HistoryPoint) {
  visit.about("bench_point", "One run's figure.");
  FIELD(run, "Id of the run.", kAlways);
  FIELD(tag, "Its tag.");
  FIELD(started_utc, "When it began, UTC.");
  FIELD(git_commit, "Commit of the project in whose folder it ran.");
  FIELD(value, "In the KPI's unit: ns, elements a second, mJ or B.", {.unit = "the KPI's unit"});
}

FIELDS_OF(Step) {
  visit.about("bench_step", "A change of the level.");
  FIELD(run, "Id of the first run at the new level.", kAlways);
  FIELD(started_utc, "When that began, UTC.");
  FIELD(git_commit, "Its commit.");
  FIELD(before, "Median of the level before.", {.unit = "the KPI's unit"});
  FIELD(after, "Median of the level from there on.", {.unit = "the KPI's unit"});
  FIELD(gain_percent, "How much better the new level is; negative: worse.");
}

FIELDS_OF(Series) {
  visit.about("bench_series", "One figure of one stack for one workload on one machine, in time.");
  FIELD(workload, "Name and shape.");
  FIELD(dtype, "The workload's dtype.");
  FIELD(device, "cuda, cpu or vulkan.");
  FIELD(stack, "The stack.", kAlways);
  FIELD(fingerprint, "Of the machine as it was set up.");
  FIELD(kpi, "p50, p95, throughput, energy or memory.");
  FIELD(points, "By run, in time.", kAlways);
  FIELD(steps, "Where the level changes.");
}

FIELDS_OF(History) {
  visit.about("bench_history", "Figures from run to run.");
  FIELD(series, "By workload, stack, machine and KPI.", kAlways);
  FIELD(runs, "Runs that are known.");
  FIELD(added, "Of these: new since the last time.");
  FIELD(notes, "Files that hold no run, and why.");
}

}  // namespace gpuready::bench

namespace gpuready {
DOCUMENT_OF(bench::History, "bench-history", "Figures of benchmarks from run to run",
            "Series of figures and the steps in them. Units are in the names of the keys.",
            "0: it was read; 2: it could not be.", "history", "The series.");
}  // namespace gpuready
