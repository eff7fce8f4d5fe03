#include <algorithm>

#include "jobs/running_job.h"

namespace gpuready {
namespace {

// Why nothing more is to begin.
std::optional<Error> over(const JobWatch& watch) {
  if (watch.cancel != nullptr && watch.cancel->load())
    return Error{ErrorKind::cancelled, "cancelled before it began"};
  if (watch.deadline && Clock::now() >= *watch.deadline)
    return Error{ErrorKind::timed_out, "the time for all jobs was over before it began"};
  return std::nullopt;
}

class Pool {
 public:
  Pool(std::span<const Job> jobs, const PoolOptions& options) : jobs_(jobs), options_(options) {
    outcomes_.resize(jobs.size());
  }

  std::vector<Result<JobOutcome>> run() {
    while (true) {
      start_what_may();
      if (running_.empty()) return std::move(outcomes_);
      std::vector<RunningJob*> looked_at;
      for (Member& member : running_) looked_at.push_back(&member.job);
      poll_jobs(looked_at, Deadline::max(), options_.watch);
      for (Member& member : running_) {
        if (options_.on_output) options_.on_output(member.index, member.job);
        if (member.job.finished()) outcomes_[member.index] = member.job.outcome();
      }
      std::erase_if(running_, [](const Member& member) { return member.job.finished(); });
    }
  }

 private:
  struct Member {
    std::size_t index;
    RunningJob job;
  };

  void start_what_may() {
    for (; next_ < jobs_.size() && running_.size() < options_.at_once; ++next_) {
      if (auto why_not = over(options_.watch)) {
        outcomes_[next_] = std::unexpected(std::move(*why_not));
      } else if (auto started = RunningJob::start(jobs_[next_])) {
        running_.push_back({next_, std::move(*started)});
      } else {
        outcomes_[next_] = std::unexpected(std::move(started).error());
      }
    }
  }

  std::span<const Job> jobs_;
  const PoolOptions& options_;
  std::size_t next_ = 0;
  std::vector<Member> running_;
  std::vector<Result<JobOutcome>> outcomes_;
};

}  // namespace

std::vector<Result<JobOutcome>> run_jobs(std::span<const Job> jobs, const PoolOptions& options) {
  return Pool(jobs, options).run();
}

Result<JobOutcome> run_job(const Job& job, const JobWatch& watch) {
  return std::move(run_jobs({&job, 1}, {.at_once = 1, .watch = watch}).front());
}

}  // namespace gpuready
