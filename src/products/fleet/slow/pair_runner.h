// Measures rounds of pairs: one command for each pair, those of a round at the same time.
#pragma once

#include <chrono>
#include <functional>
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

// How the user wants pairs to be measured.
struct RunnerChoice {
  std::string command = {}, runner = {};  // a command, or the name of a template
  bool plan = false;                      // nothing is measured
  bool in_slurm_job = false;
};
// The command; empty: none, since the rounds so far are to be judged, or the next one is planned.
Result<std::string> command_of(const RunnerChoice& choice, std::size_t rounds_so_far);

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

// Adds rounds until the search ends or is cancelled. `keep` is called before anything is measured
// and after each round, so that the search goes on where it was interrupted; `begins` before each
// round.
Result<std::vector<PairFailure>> measure_rounds(
    const PairRunner& runner, SlowSearch& search, const std::function<Result<void>()>& keep,
    const std::function<void(std::size_t pairs, unsigned round)>& begins);

}  // namespace gpuready::fleet
