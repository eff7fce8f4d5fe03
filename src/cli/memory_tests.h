// Runs the planned memory tests of a machine, with progress and Ctrl-C.
#pragma once

#include <optional>
#include <vector>

#include "cli/options.h"
#include "health/memory_test.h"
#include "health/plan.h"

namespace gpuready::cli {

struct MemoryTestRun {
  PlanOptions plan;
  std::optional<MemoryFault> inject;
  std::optional<double> benchmark_limit_ms;  // also run the matrix product, within this limit
  bool quiet = false;
};

// One verdict a GPU, MIG instance or host memory, in the machine's order.
std::vector<Verdict> run_memory_tests(const Machine& machine, const MemoryTestRun& run);

}  // namespace gpuready::cli
