// One test in a session: follows what the child writes, sets its limits, and turns every end into a
// verdict.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "health/worker/worker.h"
#include "health/worker/worker_session.h"

namespace gpuready {

// How long a job may take once the driver has started.
std::chrono::milliseconds test_limit(const TestJob& job, const WorkerLimits& limits);

// Who is tested, as the parent knows it, beside what a child has told of itself.
void identify_subject(const TestJob& job, Verdict& verdict);

class TestWatch {
 public:
  // Gives the test to the session's child. All that is referred to outlives this.
  TestWatch(const TestJob& job, std::size_t index, WorkerSession& session,
            std::chrono::milliseconds start_limit, const WorkerLimits& limits,
            const WorkerHooks& hooks, Clock::time_point began);

  bool done() const { return done_; }
  Verdict take() { return std::move(verdict_); }
  void look();  // reads what has arrived

 private:
  RunningJob& child() { return *session_.child; }
  void read_lines();
  void read_line(std::string_view text);
  void judge_end();
  std::string reason_of(const JobOutcome& outcome) const;
  bool died_of_host_memory(const JobOutcome& outcome) const;
  // How long the child may be silent now.
  std::chrono::milliseconds allowed_silence() const;
  void enter(std::string phase);
  void conclude(VerdictStatus status, std::string reason);
  double started_ms() const;

  const TestJob& job_;
  const std::size_t index_;
  WorkerSession& session_;
  const WorkerLimits& limits_;
  const WorkerHooks& hooks_;
  const Clock::time_point began_;
  const std::chrono::milliseconds start_limit_, hard_limit_;
  std::string phase_;
  Clock::time_point started_ = Clock::now(), last_line_;
  Verdict verdict_;
  bool done_ = false;
};

}  // namespace gpuready
