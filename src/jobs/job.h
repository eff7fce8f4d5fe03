// The one way to run a child. A job says what is run and within which limits; its outcome says how
// it ended, in which step, and what it wrote. Every child gets a session, a process group and pipes
// of its own and inherits no other descriptor. Its group ends with it, every child is reaped, and
// one that no signal ends (uninterruptible sleep in a driver) is abandoned: never waited for, and
// it holds none of our pipes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace gpuready {

class RunningJob;

// What the child writes to: descriptor 1, 2, and the socket that it has as descriptor 3.
enum Stream { kOut, kErr, kChannel, kStreamCount };

// Limits of time. Absent: none.
struct JobLimits {
  std::optional<std::chrono::milliseconds> time = std::chrono::milliseconds(30'000);
  // Without a byte on the channel, where the job has one, else on stdout or stderr.
  std::optional<std::chrono::milliseconds> silence = std::nullopt;
};

// How much memory the child and what it starts may use.
struct MemoryLimit {
  enum class Kind {
    // RLIMIT_AS of each process: allocations fail. Not for GPU drivers, which reserve address space
    // by the terabyte.
    address_space,
    // memory.max of the cgroup (v2) in `folder`, which the caller has made for this job and removes
    // after it: the kernel kills what needs more.
    cgroup,
  };
  Kind kind = Kind::address_space;
  std::uint64_t bytes = 0;
  std::string folder = {};  // of the cgroup
};

struct Job {
  std::string program;            // a path, or a name looked up in PATH (jobs/program.h)
  std::vector<std::string> args;  // without argv[0]
  // Which of our variables it is given; null: all. Of PATH it is then given only_our_folders().
  bool (*keeps)(std::string_view name) = nullptr;
  // Changes to these: a value sets the variable, nothing removes it.
  std::vector<std::pair<std::string, std::optional<std::string>>> env;
  std::string input;  // what it reads on stdin; empty: /dev/null
  JobLimits limits;
  // Give the child a socket as descriptor 3, on which both sides write. Its end tells a child of
  // ours that its parent has died (jobs/parent_watch.h).
  bool channel = false;
  // It kills all that it has started, whatever session that went to, when it gets SIGTERM
  // (jobs/supervise.h). So it is asked by that before it is killed.
  bool supervises = false;
  std::chrono::milliseconds time_to_stop{3'000};  // between being asked to stop and being killed
  // What is kept of each stream until somebody takes it. More is cut off, or ends the job.
  std::size_t output_limit_bytes = 16u << 20;
  bool ends_at_output_limit = false;
  std::optional<MemoryLimit> memory;
  // Where memory runs out, the kernel kills the process with the highest score first: a child of
  // ours rather than the work of the machine.
  int oom_score_adj = 1000;
};

enum class JobEnd {
  exited,
  signalled,
  timed_out,        // at the limit of time, its own or the one of all
  silent,           // at the limit of silence
  too_much_output,  // at the limit of output
  cancelled,        // asked to stop, and it ended or was killed then
  hung,             // killed, and still in uninterruptible sleep: abandoned
};

std::string_view to_string(JobEnd end);
std::optional<JobEnd> job_end_from(std::string_view text);

struct JobOutcome {
  JobEnd end = JobEnd::exited;
  int exit_code = 0;     // valid for exited
  int signal = 0;        // valid for signalled
  std::string step;      // what RunningJob::enter() named last
  std::string waits_in;  // valid for hung: the kernel's function, where it may be read
  // No signal ended it. It may hold its devices and memory until the driver lets it go.
  bool abandoned = false;
  std::string out, err;  // stdout, stderr
  std::string channel;   // what it wrote to descriptor 3
  bool truncated = false;
  double duration_ms = 0;
};

// What holds for all jobs that are waited for together.
struct JobWatch {
  const std::atomic<bool>* cancel = nullptr;  // once set, all are asked to stop
  std::optional<Deadline> deadline = std::nullopt;
};

// Runs to the end. Error only when the program could not be started (not_found, no_permission,
// ...).
Result<JobOutcome> run_job(const Job& job, const JobWatch& watch = {});

struct PoolOptions {
  std::size_t at_once = SIZE_MAX;
  JobWatch watch = {};
  // Called when a job has written something.
  std::function<void(std::size_t, RunningJob&)> on_output = {};
};
// Runs all of them, at most `at_once` at the same time; one outcome a job, in the same order. Those
// that had not begun at the deadline or the cancellation are errors of that kind.
std::vector<Result<JobOutcome>> run_jobs(std::span<const Job> jobs,
                                         const PoolOptions& options = {});

}  // namespace gpuready
