// What `ternary verify` and `ternary bench` share: which tiers and devices, and the child process
// in which GPUs are used (their drivers can hang or crash).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/options.h"
#include "gpuready/ternary_device.h"
#include "jobs/running_job.h"
#include "ternary/suite/verify.h"

namespace gpuready::cli {

struct TernarySubjects {
  std::vector<std::string> tier_names, device_names;
  unsigned threads = 0;
  double timeout_s = 300;
  bool in_process = false;  // this is the child

  // Once check() succeeded:
  std::vector<ternary::Tier> tiers;      // empty: all that are here
  std::vector<ternary::Target> targets;  // GPUs; empty: all that are here
  bool cpu = true, gpus = true;
};
void add_subjects(CommandSpec& command, TernarySubjects& subjects);
// Names that mean nothing are an error.
Result<void> check(TernarySubjects& subjects);

// On this machine the targets that a word means: an executor, one of its devices, or GPUs by any of
// their names.
Result<std::vector<ternary::Target>> targets_on(const Machine& machine, const std::string& word);
// What this process verifies: the GPUs in the child, else the tiers of the CPU.
std::vector<ternary::Subject> subjects_here(const TernarySubjects& chosen);

// What the child that uses the GPUs came to.
struct GpuOutcome {
  std::optional<Json> document;
  bool timed_out = false, crashed = false;  // else it could not be started, or wrote no document
  std::string reason;
};
// The result of GPUs whose child wrote no report. `asked`: they were named.
ternary::SubjectResult lost_gpu(const GpuOutcome& outcome, bool asked);
// Starts `gpuready ternary <command> ... --in-process --json -`, and waits for it in finish().
class GpuChild {
 public:
  GpuChild(const std::string& command, const TernarySubjects& subjects,
           const std::vector<std::string>& more);
  GpuOutcome finish();

 private:
  std::optional<RunningJob> child_;
  std::string reason_;
  double timeout_s_;
};

}  // namespace gpuready::cli
