// Measures a round of pairs: one command for each, all at the same time.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/slow/findings.h"
#include "jobs/job.h"

namespace gpuready::fleet {

// A command of a shell, in which {a} and {b} are the nodes of a pair and {gpus} the GPUs of each.
struct PairTemplate {
  std::string_view name, command;
};
std::span<const PairTemplate> pair_templates();  // slurm, mpi

struct PairRunner {
  std::string command;
  unsigned gpus = 8;
  std::chrono::milliseconds time_limit{180'000};  // of each pair
  JobWatch watch = {};
};

// An error if the command does not name both nodes.
Result<void> check_runner(const PairRunner& runner);

struct RoundOutcome {
  std::vector<PairRate> rates;  // without pairs that were cancelled
  std::vector<PairFailure> failures;
};
RoundOutcome measure_round(const PairRunner& runner, const FleetMap& map,
                           const std::vector<IndexPair>& pairs, unsigned round);

}  // namespace gpuready::fleet
