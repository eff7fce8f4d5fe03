// `bench loop`: base and candidate take turns until the rule of promote() decides.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "bench/compare/promote.h"
#include "bench/record/result_files.h"
#include "host/host.h"
#include "jobs/job.h"

namespace gpuready::bench {

struct LoopOptions {
  std::string folder{kResultsFolder}, base, candidate;  // of results; two tags
  std::string command = "gpuready bench run";           // of one run
  std::optional<std::string> candidate_command, gate;
  std::optional<std::string> idea;  // NAME, or NAME=VALUE of a variable in the candidate's runs
  std::uint64_t most_runs = 12;     // a side
  std::uint64_t order_seed = 1;
  std::optional<double> budget_s;
  PromoteOptions rule;
};

struct LoopHooks {
  std::string program;  // that "gpuready" is in a command
  std::function<Result<JobOutcome>(const Job&)> run;
  std::function<double()> elapsed_s;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  std::function<void(const std::string&)> tell = [](const std::string&) {};  // a line, at once
};

class PromotionLoop {
 public:
  PromotionLoop(LoopOptions& options, Host& host, const LoopHooks& hooks);

  // What can be known to go wrong before anything is run.
  Result<void> check();
  Result<void> pass_gate();  // if there is one
  Result<Promotion> decided();

 private:
  Result<Job> job_of(const std::string& option, const std::string& command) const;
  Result<void> check_command(const std::string& option, const std::string& command) const;
  Result<std::vector<RunRecord>> runs_of(const std::string& tag);
  Result<void> run_one(bool is_candidate, std::size_t pair);
  Result<Promotion> judged(double share);
  Result<void> check_base();
  Result<std::optional<Promotion>> refusal();
  Result<Promotion> without_decision(std::optional<Promotion> last, std::string why);
  void tell_noise(const Promotion& so_far);

  LoopOptions& options_;
  Host& host_;
  const LoopHooks& hooks_;
  std::set<Kpi> told_;                // each once
  std::optional<std::string> value_;  // of the variable in the candidate's runs
};

}  // namespace gpuready::bench
