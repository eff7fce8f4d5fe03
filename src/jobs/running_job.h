// A job that runs. Nothing here blocks longer than asked.
#pragma once

#include <memory>
#include <string_view>

#include "jobs/job.h"

namespace gpuready {

class RunningJob {
 public:
  static Result<RunningJob> start(const Job& job);
  RunningJob(RunningJob&&) noexcept;
  RunningJob& operator=(RunningJob&&) noexcept;
  ~RunningJob();  // release()

  int pid() const;
  bool finished() const;
  const JobOutcome& outcome() const;  // complete once finished()

  // What has arrived on a stream and was not taken yet.
  std::string& text(Stream stream);
  // Takes the lines that are complete, and once the job has finished the rest.
  std::vector<std::string> take_lines(Stream stream);

  // Text that the child reads from descriptor 3. False when it cannot be had there.
  bool send(std::string_view text);
  void end_channel();  // the child reads the end there

  void enter(std::string step);         // what it does now, for JobOutcome::step
  void limit(const JobLimits& limits);  // from now on; both clocks start again
  // Of a job that was not polled meanwhile: whether it still runs, with these limits from now on.
  // The kernel may have killed it, first of all where memory runs out.
  bool resume(const JobLimits& limits);
  void limit_silence(std::optional<std::chrono::milliseconds> silence);
  void stop();  // asks by SIGTERM, once; kills what still runs three seconds later
  void kill();  // SIGKILL to the whole group
  // It has said all that is wanted: the group is killed and its end is not waited for (closing a
  // driver takes milliseconds). It is reaped later: when another job starts, at the latest at the
  // end of this process.
  void release();

 private:
  friend void poll_jobs(std::vector<RunningJob*> jobs, Deadline until, const JobWatch& watch);
  struct State;
  explicit RunningJob(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Moves text to and from all jobs until something arrived, one finished, or `until`; enforces the
// limits of each and of all.
void poll_jobs(std::vector<RunningJob*> jobs, Deadline until, const JobWatch& watch = {});

}  // namespace gpuready
