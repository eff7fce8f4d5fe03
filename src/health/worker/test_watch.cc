#include "health/worker/test_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "value/json.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kToGiveUp{500};  // until a killed child has ended or is abandoned
constexpr std::string_view kStartPhase = "driver start", kNextPhase = "start";

}  // namespace

WorkerLimits WorkerLimits::within(milliseconds total) {
  const milliseconds left = total > 2 * kToGiveUp ? total - kToGiveUp : kToGiveUp;
  WorkerLimits limits;
  limits.start = left * 6 / 10;
  limits.start_per_gpu = milliseconds{0};
  limits.quick = limits.standard = limits.thorough = left - limits.start;
  limits.no_progress = std::min(limits.no_progress, limits.quick);
  return limits;
}

milliseconds test_limit(const TestJob& job, const WorkerLimits& limits) {
  const TestOptions& options = job.options;
  const milliseconds by_level = options.level == Level::quick      ? limits.quick
                                : options.level == Level::standard ? limits.standard
                                                                   : limits.thorough;
  return by_level + milliseconds(static_cast<long>(options.duration_s.value_or(0) * 1000));
}

void identify_subject(const TestJob& job, Verdict& verdict) {
  verdict.test = job.test->name;
  verdict.subject = job.subject;
  const DeviceChoice& device = job.devices.front();
  if (verdict.executor.empty()) verdict.executor = device.executor;
  if (device.executor == "cuda" && !verdict.uuid) verdict.uuid = device.id;
  if (!verdict.pci_address) verdict.pci_address = job.pci_address;
  if (job.devices.size() > 1 && !verdict.peer_uuid) verdict.peer_uuid = job.devices[1].id;
  if (job.options.inject) verdict.injected_fault = to_string(job.options.inject->kind);
}

TestWatch::TestWatch(const TestJob& job, std::size_t index, WorkerSession& session,
                     milliseconds start_limit, const WorkerLimits& limits, const WorkerHooks& hooks,
                     Clock::time_point began)
    : job_(job),
      index_(index),
      session_(session),
      limits_(limits),
      hooks_(hooks),
      began_(began),
      start_limit_(start_limit),
      hard_limit_(start_limit + test_limit(job, limits)),
      last_line_(Clock::now()) {
  session_.busy = true;
  if (!session_.child) {
    conclude(VerdictStatus::not_tested,
             fmt::format("the test's child could not be started: {}", session_.why_not));
    return;
  }
  child().limit({.time = hard_limit_});
  enter(std::string(session_.driver_started ? kNextPhase : kStartPhase));
  // A child that reads no more has ended, which look() finds.
  child().send(
      dump_line(Json{{"test", std::string(job.test->name)}, {"options", to_json(job.options)}}) +
      "\n");
}

milliseconds TestWatch::allowed_silence() const {
  return phase_ == kStartPhase ? start_limit_ : limits_.no_progress;
}

void TestWatch::enter(std::string phase) {
  phase_ = std::move(phase);
  child().enter(phase_);
  child().limit_silence(allowed_silence());
}

void TestWatch::look() {
  if (done_) return;
  read_lines();
  if (!done_ && child().finished()) judge_end();
}

void TestWatch::read_lines() {
  for (const std::string& line : child().take_lines(kChannel))
    if (!done_) read_line(line);
}

void TestWatch::read_line(std::string_view text) {
  auto doc = parse_json(text, "worker", 4 * MiB);
  if (!doc) return;  // a library wrote to our descriptor: nothing that we can use
  last_line_ = Clock::now();
  if (const Json& progress = member(*doc, "progress"); progress.is_object()) {
    session_.driver_started = true;
    enter(printable(get_string(progress, "phase").value_or("")));
    if (hooks_.progress) {
      hooks_.progress({index_, phase_, get_uint(progress, "done").value_or(0),
                       get_uint(progress, "total").value_or(0)});
    }
  }
  if (const Json& partial = member(*doc, "partial"); partial.is_object()) {
    if (auto verdict = value_from_json<Verdict>(partial, "worker")) verdict_ = std::move(*verdict);
  }
  if (const Json& told = member(*doc, "verdict"); told.is_object()) {
    if (auto verdict = value_from_json<Verdict>(told, "worker")) {
      verdict_ = std::move(*verdict);
      if (!get_bool(*doc, "more").value_or(false)) session_.close(limits_.no_progress);
      conclude(verdict_.status, verdict_.reason);
    }
  }
}

// The child has ended without a verdict.
void TestWatch::judge_end() {
  const JobOutcome& outcome = child().outcome();
  VerdictStatus status = VerdictStatus::timed_out;
  if (outcome.end == JobEnd::exited || outcome.end == JobEnd::signalled)
    status = died_of_host_memory(outcome) ? VerdictStatus::failed : VerdictStatus::inconclusive;
  std::string reason = reason_of(outcome);
  if (outcome.abandoned) reason += fmt::format("; process {} cannot be killed", child().pid());
  conclude(status, std::move(reason));
}

// The kernel ends whoever reads host memory that its hardware reports as bad with SIGBUS.
bool TestWatch::died_of_host_memory(const JobOutcome& outcome) const {
  return outcome.signal == SIGBUS && job_.on_cpu() && phase_ != kStartPhase;
}

std::string TestWatch::reason_of(const JobOutcome& outcome) const {
  const auto time = [](milliseconds limit) {
    return format_duration_ms(static_cast<double>(limit.count()));
  };
  switch (outcome.end) {
    case JobEnd::timed_out:
      return fmt::format("killed during {} at its limit of {}", phase_, time(hard_limit_));
    case JobEnd::silent:
      return fmt::format("no progress for {} during {}", time(allowed_silence()), phase_);
    case JobEnd::cancelled:
      return fmt::format("interrupted during {}, and it did not stop when asked", phase_);
    case JobEnd::too_much_output:
      return fmt::format("the test's child wrote too much during {}", phase_);
    case JobEnd::hung:
      return fmt::format("hung during {}: in uninterruptible sleep in the driver{}", phase_,
                         outcome.waits_in.empty() ? "" : " (" + outcome.waits_in + ")");
    case JobEnd::signalled: {
      const char* name = ::sigabbrev_np(outcome.signal);
      return fmt::format("the test's child died during {} of SIG{}{}", phase_, name ? name : "?",
                         died_of_host_memory(outcome) ? ": a hardware memory error" : "");
    }
    case JobEnd::exited:
      return fmt::format("the test's child ended during {} without a verdict (exit code {})",
                         phase_, outcome.exit_code);
  }
  return {};
}

void TestWatch::conclude(VerdictStatus status, std::string reason) {
  identify_subject(job_, verdict_);
  verdict_.status = status;
  verdict_.reason = printable(reason);
  if (verdict_.duration_ms == 0) verdict_.duration_ms = elapsed_ms(started_);
  if (session_.child) verdict_.started_ms = started_ms();
  session_.busy = false;
  // It may wait for its next test as long as that takes. One that ends has its own limit.
  if (session_.child && !session_.closed) child().limit({.time = std::nullopt});
  done_ = true;
}

// The test itself began after its driver had started; it ended when it told its verdict.
double TestWatch::started_ms() const {
  const auto since = [this](Clock::time_point time) {
    return std::chrono::duration<double, std::milli>(time - began_).count();
  };
  return std::max(since(started_), since(last_line_) - verdict_.duration_ms);
}

}  // namespace gpuready
