// Runs the planned health tests of a machine, with progress and Ctrl-C.
#pragma once

#include <functional>
#include <vector>

#include "base/clock.h"
#include "health/plan/plan.h"
#include "health/worker/worker.h"

namespace gpuready::cli {

// The machine as it is now: who uses which GPU. Not given: not looked up.
using LookAgain = std::function<Machine()>;

// The machine once it is idle, or as it is after a while: a driver may list a child of ours for
// some time after its end.
Machine look_until(const LookAgain& look, const std::function<bool(const Machine&)>& idle);

// What the driver reserves of each GPU's memory. Only NVML reports it; the workers ask CUDA.
void add_reserves(const Machine& machine, std::vector<Verdict>& verdicts);

// Runs a plan: one verdict a job, wave after wave, after the verdicts of what is not run. `began`
// is what Verdict::started_ms counts from.
std::vector<Verdict> run_plan(TestPlan plan, bool quiet, Clock::time_point began = Clock::now(),
                              const WorkerLimits& limits = {}, const LookAgain& look = {});

// One verdict a test and GPU, MIG instance, pair or host, in the machine's order.
std::vector<Verdict> run_health_tests(const Machine& machine, const PlanOptions& options,
                                      bool quiet, Clock::time_point began = Clock::now(),
                                      const WorkerLimits& limits = {}, const LookAgain& look = {});

}  // namespace gpuready::cli
