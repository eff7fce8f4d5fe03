// Runs the planned health tests of a machine, with progress and Ctrl-C.
#pragma once

#include <vector>

#include "base/clock.h"
#include "health/plan/plan.h"
#include "health/worker/worker.h"

namespace gpuready::cli {

// Runs a plan: one verdict a job, wave after wave, after the verdicts of what is not run. `began`
// is what Verdict::started_ms counts from.
std::vector<Verdict> run_plan(TestPlan plan, bool quiet, Clock::time_point began = Clock::now(),
                              const WorkerLimits& limits = {});

// One verdict a test and GPU, MIG instance, pair or host, in the machine's order.
std::vector<Verdict> run_health_tests(const Machine& machine, const PlanOptions& options,
                                      bool quiet, Clock::time_point began = Clock::now(),
                                      const WorkerLimits& limits = {});

}  // namespace gpuready::cli
