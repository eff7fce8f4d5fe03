#include "bench/run/adapter_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "bench/run/adapter_child.h"
#include "bench/run/child_variables.h"
#include "jobs/parent_watch.h"

namespace gpuready::bench {
namespace {

// What is kept of a child's words: its answer stands last.
constexpr std::size_t kKeptBytes = 8u << 20;
// Of an adapter at its gate: its libraries, and for each element of its inputs a float and what it
// is computed from.
constexpr std::uint64_t kLibraryBytes = 1ull << 30, kBytesOfAnElement = 8;

void keep_the_end(std::string& text) {
  if (text.size() > 2 * kKeptBytes) text.erase(0, text.size() - kKeptBytes);
}

Job job_of(const StackCommand& stack, const Request& request, const SessionOptions& options,
           bool has_gate) {
  Job job;
  job.program = stack.command[0];
  job.args.assign(stack.command.begin() + 1, stack.command.end());
  job.keeps = is_given_to_stacks;
  job.env = options.environment;
  for (const auto& [name, value] : stack.environment) job.env.emplace_back(name, value);
  for (const auto& [name, value] : variables_of(request)) job.env.emplace_back(name, value);
  job.env.emplace_back("BENCH_GATE", std::nullopt);
  if (has_gate) job.env.back().second = std::to_string(kChannelDescriptor);
  job.channel = has_gate;
  job.limits = options.limits;
  job.output_limit_bytes = 4 * kKeptBytes;
  return options.supervisor.empty() ? job : supervised(std::move(job), options.supervisor);
}

Answer failed(StackStatus status, std::string reason) {
  Answer answer;
  answer.repeat.status = status;
  answer.repeat.reason = std::move(reason);
  return answer;
}

// A command that somebody gave is wrong; one of ours is not installed.
Answer not_started(const StackCommand& stack, const std::string& why) {
  if (stack.variable.empty()) return failed(StackStatus::unavailable, why);
  return failed(StackStatus::error, fmt::format("{}: the command '{}': {}", stack.variable,
                                                join(stack.command, " "), why));
}

}  // namespace

AdapterRun::AdapterRun(const StackCommand& stack, const Request& request,
                       const SessionOptions& options, bool has_gate)
    : stack_(stack),
      request_(request),
      options_(options),
      has_gate_(has_gate),
      started_(Clock::now()),
      limits_(options.limits),
      job_(stack.command.empty() ? fail(ErrorKind::not_found, stack.reason)
                                 : RunningJob::start(job_of(stack, request, options, has_gate))) {}

// A job with a channel is silent if nothing comes there; here any output shows that it is alive.
void AdapterRun::take_output() {
  keep_the_end(job_->text(kOut));
  keep_the_end(job_->text(kErr));
  const std::size_t bytes = job_->text(kOut).size() + job_->text(kErr).size();
  if (bytes != seen_bytes_) job_->limit_silence(limits_.silence);
  seen_bytes_ = bytes;
}

void AdapterRun::prepare(std::span<AdapterRun*> runs) {
  while (true) {
    std::vector<RunningJob*> jobs;
    for (AdapterRun* run : runs)
      if (run->job_ && !run->job_->finished() && !run->ready_) jobs.push_back(&*run->job_);
    if (jobs.empty()) return;
    poll_jobs(jobs, Deadline::max(), runs.front()->options_.watch);
    for (AdapterRun* run : runs) {
      if (!run->job_ || run->ready_) continue;
      run->take_output();
      run->ready_ = run->job_->text(kChannel).contains('\n');
      if (run->ready_ && run->limits_.time)
        *run->limits_.time -=
            std::chrono::floor<std::chrono::milliseconds>(Clock::now() - run->started_);
    }
  }
}

void AdapterRun::end(std::span<AdapterRun*> runs) {
  for (AdapterRun* run : runs)
    if (run->job_ && !run->job_->finished()) run->job_->stop();
  for (AdapterRun* run : runs)
    while (run->job_ && !run->job_->finished())
      poll_jobs({&*run->job_}, Deadline::max(), run->options_.watch);
}

Answer AdapterRun::finish(double& child_ms) {
  if (stack_.command.empty()) return failed(StackStatus::unavailable, stack_.reason);
  if (!job_) return not_started(stack_, job_.error().message);
  const auto opened = has_gate_ ? Clock::now() : started_;
  if (ready_) {
    job_->limit(limits_);
    job_->send("\n");
  }
  for (RunningJob* job = &*job_; !job->finished(); take_output())
    poll_jobs({job}, Deadline::max(), options_.watch);
  JobOutcome outcome = job_->outcome();
  const std::chrono::duration<double, std::milli> held = opened - started_;
  child_ms = std::max(0.0, outcome.duration_ms - held.count());
  const AdapterEnd end = options_.supervisor.empty() ? AdapterEnd{} : take_adapter_end(outcome.err);
  if (!end.cannot_start.empty()) return not_started(stack_, end.cannot_start);
  Answer answer = answer_of(outcome, request_, options_.limits);
  if (request_.device == "cpu" && end.peak_resident_bytes) {
    answer.repeat.memory_peak_bytes = end.peak_resident_bytes;
    answer.repeat.memory_seen = "resident";
  }
  return answer;
}

bool AdapterRun::missed_gate() const {
  if (!has_gate_ || ready_ || !job_ || !job_->finished()) return false;
  return job_->outcome().end != JobEnd::cancelled;
}

std::size_t prepared_at_once(const Request& request, std::size_t cores,
                             std::optional<std::uint64_t> available_bytes) {
  const std::uint64_t elements = workload_of(request).bytes.value_or(0) / bytes_of(request.dtype);
  const std::uint64_t each = kLibraryBytes + kBytesOfAnElement * elements;
  return std::clamp<std::uint64_t>(available_bytes.value_or(UINT64_MAX) / 2 / each, 1,
                                   std::max<std::size_t>(cores, 1));
}

}  // namespace gpuready::bench
