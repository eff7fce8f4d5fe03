// What `check`, `test` and `gpu-test` share: options and the run itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/options.h"
#include "health/plan/plan.h"
#include "health/worker/worker.h"
#include "machine/inspect.h"
#include "report/kept_results.h"
#include "report/report.h"

namespace gpuready::cli {

struct TestCommand {
  Globals globals;
  std::string level;  // empty: the policy's, else the command's
  std::string default_level;
  PolicyOptions policy;
  std::optional<int> require_gpu;
  std::optional<std::string> baseline, network, inject;
  std::optional<std::string> state;  // where the result is kept for `status`
  std::vector<std::string> accept, require;
  std::vector<std::string> only;  // names of tests; empty: those of the level
  double wait_s = 0;              // for the driver, if something is wrong at first
  std::optional<double> duration_s;
  std::optional<std::uint64_t> seed;
  std::uint64_t faults = 1;  // how many are injected
  bool busy = false, fitness = false, hammer = false;
};

// --level, --busy, --inject, --require-gpu, --baseline, --accept and the global options.
void add_test_options(CommandSpec& command, TestCommand& options, std::string default_level);

// Runs the plan on the report's machine, watches it meanwhile, looks at it again, and fills in what
// that shows: verdicts, samples, findings.
struct TestRun {
  PlanOptions plan;
  bool quiet = false;
  Clock::time_point start = Clock::now();
  WorkerLimits limits = {};
  std::chrono::milliseconds probe_timeout = InspectOptions{}.probe_timeout;  // of each later look
  Clock::time_point no_look_after = Clock::time_point::max();  // the answer comes first then
};
void run_and_judge(Host& host, Report& report, const TestRun& run);

// About this machine, by its own driver, and not through a variable that hides GPUs.
bool proves_something(const Report& report);
RunExtent extent_of(const TestCommand& options);

// --state, and what it means: the results of that file, or of this machine's own, after `report`.
Option state_option(std::optional<std::string>& file);
Result<void> keep_results(const std::optional<std::string>& file, const Report& report,
                          const RunExtent& extent);
// What they kept; empty before the first run has written the file.
Result<KeptResults> read_kept_results(Host& host, const std::string& path);
// The same for a run that keeps its own. A file that holds something else is replaced with a
// complaint, unless the user named it.
Result<KeptResults> kept_before(Host& host, const std::string& path, bool named);
// Of the machine that is looked at: this machine's own file says nothing about a recorded one.
Result<KeptResults> kept_of_seen_machine(Host& host, const Globals& globals,
                                         const std::string& path);
Present present_now(Host& host, double valid_s);
// What this file's results are worth on this machine now.
Result<StatusReport> read_status(Host& host, const std::string& file, double valid_s);
// Waits up to `patience` for another process.
Result<std::unique_ptr<Storage::Lock>> wait_for_lock(const std::string& path,
                                                     std::chrono::milliseconds patience);
// --state and --valid, for who reads what was kept.
void add_kept_results(CommandSpec& command, std::string& file, double& valid_s);

Result<int> run_tests(std::string command, TestCommand options);

}  // namespace gpuready::cli
