// What a hook concludes from its looks at the GPUs: what is wrong, and what is not known. The
// looks, the pauses between them and the tests are its caller's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/host.h"
#include "slurm/decide.h"

namespace gpuready::slurm {

struct Seen {
  std::optional<Look> look = {};  // absent: none
  // A look that gave no answer is a cause itself: whether the driver hangs or is only slow, a job
  // would wait for it as long.
  std::optional<Cause> no_answer = {};
  std::optional<std::string> unknown = {};
  std::int64_t unix_seconds = 0;  // when the look began
};
// By the child that looked for at most `limit`.
Seen seen_by_child(const Result<JobOutcome>& outcome, std::chrono::milliseconds limit,
                   std::int64_t unix_seconds);

// What tests have found counts also while nothing can be seen.
std::vector<Cause> causes_of_health(const Seen& seen, const StatusReport& kept,
                                    const std::optional<Record>& record);

// The job as Slurm's variables describe it.
struct JobVariables {
  std::optional<std::string> id = {}, uid = {};
  std::optional<std::string> gpus = {};  // absent: it has none here
};
JobVariables job_variables(Host& host);

struct JobLook {
  Seen seen = {};
  std::vector<std::uint32_t> left = {};  // processes of the job that still compute on its GPUs
};
// Of the job's user; those of root may be daemons.
std::vector<std::uint32_t> left_by(Host& host, const JobGpus& gpus, const JobVariables& job);
// After a job it looks until the job has left no process, since processes take time to end, but no
// more than six times.
JobLook look_at_job(Host& host, const JobVariables& job, bool after,
                    const std::function<Seen()>& look, const std::function<void()>& pause);

struct JudgedJob {
  JobGpus gpus = {};  // of the look that was judged, which must outlive this
  std::vector<Cause> causes = {};
  std::optional<std::string> unknown = {};
  bool may_test = false;  // nothing speaks against a test of the GPUs, and it would be short
};
JudgedJob judge_job(const JobLook& looked, const JobVariables& job, const StatusReport& kept);

// `check` on these GPUs, which keeps what it finds in `results`.
std::vector<std::string> test_args(const JobGpus& gpus, const std::string& results);
// Why such a test has no result; nothing: it has one.
std::optional<std::string> why_no_result(const Result<JobOutcome>& outcome);

}  // namespace gpuready::slurm
