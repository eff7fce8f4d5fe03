// What several subcommands of `gpuready bench` share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/compare/promote.h"
#include "bench/history/history.h"
#include "bench/record/result_files.h"
#include "cli/command_line.h"
#include "host/host.h"

namespace gpuready::cli {

// Names of runs, as bench::find_runs() takes them.
Option runs_option(const char* name, std::string& names, std::string_view help);  // required
Option reported_runs_option(std::string& names);  // RUNS: the latest run if not given
Option results_option(std::string& folder, std::string_view what = "the runs");

// --kpi: figures by name, and the figures of those names.
Option kpi_option(std::vector<std::string>& names, std::string_view help);
std::vector<bench::Kpi> kpis_of(const std::vector<std::string>& names);

// --stack: of names, or of one.
std::vector<std::string> bench_tasks();  // the workloads of `bench run`
Option stack_option(std::vector<std::string>& names, const char* help, bool several = true);

Option learn_option(bool& alone);  // --no-history

// How bench promote and bench loop decide; percent.
struct RuleOptions {
  double least_gain_percent = 1, risk_percent = 1;
  std::vector<std::string> losses;
  bool alone = false;
  void declare(CommandSpec& command);
  Result<void> set(bench::PromoteOptions& rule) const;
};

// The two sides of a comparison, by what find_runs takes. No run may be on both.
struct Sides {
  bench::Side base, candidate;
};
Result<Sides> find_sides(Host& host, const std::string& folder, const std::string& base,
                         const std::string& candidate);

// The option as on a command line; nothing if it was not given and has no value of its own.
std::vector<std::string> as_words(const Option& option);

std::optional<std::string> variable(const std::string& name);  // of the environment

}  // namespace gpuready::cli
