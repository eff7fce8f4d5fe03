#include "health/worker/job_watch.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "value/json.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTimeToStop{3'000};  // between being asked to stop and being killed
constexpr milliseconds kTimeToDie{500};     // after a kill; longer means stuck in the kernel
constexpr std::string_view kStartPhase = "driver start", kNextPhase = "start";

}  // namespace

WorkerLimits WorkerLimits::within(milliseconds total) {
  const milliseconds left = total > 2 * kTimeToDie ? total - kTimeToDie : kTimeToDie;
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

void tell_who(const TestJob& job, Verdict& verdict) {
  verdict.test = job.test->name;
  verdict.subject = job.subject;
  const DeviceChoice& device = job.devices.front();
  if (verdict.executor.empty()) verdict.executor = device.executor;
  if (device.executor == "cuda" && !verdict.uuid) verdict.uuid = device.id;
  if (!verdict.pci_address) verdict.pci_address = job.pci_address;
  if (job.devices.size() > 1 && !verdict.peer_uuid) verdict.peer_uuid = job.devices[1].id;
  if (job.options.inject) verdict.injected_fault = to_string(job.options.inject->kind);
}

JobWatch::JobWatch(const TestJob& job, std::size_t index, WorkerSession& session,
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
      phase_(session.driver_started ? kNextPhase : kStartPhase),
      last_line_(Clock::now()) {
  session_.busy = true;
  if (!session_.child) {
    conclude(VerdictStatus::not_tested,
             fmt::format("the test's child could not be started: {}", session_.why_not));
    return;
  }
  // A child that cannot be told has ended, which look() finds.
  session_.child->tell(
      dump_line(Json{{"test", std::string(job.test->name)}, {"options", to_json(job.options)}}) +
      "\n");
}

// Reads what has arrived and enforces the limits.
void JobWatch::look() {
  if (done_) return;
  read_lines();
  if (!done_ && child().finished()) judge_end();
  if (!done_) enforce();
}

void JobWatch::read_lines() {
  std::string& document = child().document();
  std::size_t start = 0;
  for (std::size_t end; (end = document.find('\n', start)) != std::string::npos; start = end + 1) {
    if (!done_) read_line(std::string_view(document).substr(start, end - start));
  }
  document.erase(0, start);
}

void JobWatch::read_line(std::string_view text) {
  auto doc = parse_json(text, "worker", 4 * MiB);
  if (!doc) return;  // a library wrote to our descriptor: nothing that we can use
  last_line_ = Clock::now();
  if (const Json& progress = member(*doc, "progress"); progress.is_object()) {
    phase_ = printable(get_string(progress, "phase").value_or(""));
    session_.driver_started = true;
    if (hooks_.progress) {
      hooks_.progress({index_, phase_, get_uint(progress, "done").value_or(0),
                       get_uint(progress, "total").value_or(0)});
    }
  }
  if (const Json& partial = member(*doc, "partial"); partial.is_object()) {
    if (auto verdict = from_json<Verdict>(partial, "worker")) verdict_ = std::move(*verdict);
  }
  if (const Json& told = member(*doc, "verdict"); told.is_object()) {
    if (auto verdict = from_json<Verdict>(told, "worker")) {
      verdict_ = std::move(*verdict);
      if (!get_bool(*doc, "more").value_or(false)) session_.close();
      conclude(verdict_.status, verdict_.reason);
    }
  }
}

// The child has ended without a verdict.
void JobWatch::judge_end() {
  const ProcessResult& result = child().result();
  if (give_up_) return conclude(VerdictStatus::timed_out, *give_up_);
  switch (result.end) {
    case ProcessEnd::timed_out:
      return conclude(VerdictStatus::timed_out, at_the_limit());
    case ProcessEnd::hung:
      return conclude(
          VerdictStatus::timed_out,
          fmt::format("hung during {}: in uninterruptible sleep in the driver", phase_));
    case ProcessEnd::signalled:
      return judge_signal(result.signal);
    case ProcessEnd::exited:
      return conclude(
          VerdictStatus::inconclusive,
          fmt::format("the test's child ended during {} without a verdict (exit code {})", phase_,
                      result.exit_code));
  }
}

void JobWatch::judge_signal(int signal) {
  const char* name = ::sigabbrev_np(signal);
  // The kernel ends whoever reads host memory that its hardware reports as bad with SIGBUS.
  const bool bad_host_memory = signal == SIGBUS && job_.on_cpu() && phase_ != kStartPhase;
  conclude(bad_host_memory ? VerdictStatus::failed : VerdictStatus::inconclusive,
           fmt::format("the test's child died during {} of SIG{}{}", phase_, name ? name : "?",
                       bad_host_memory ? ": a hardware memory error" : ""));
}

std::string JobWatch::at_the_limit() const {
  return fmt::format("killed during {} at its limit of {}", phase_,
                     format_duration_ms(static_cast<double>(hard_limit_.count())));
}

void JobWatch::enforce() {
  const auto now = Clock::now();
  const auto quiet = std::chrono::duration_cast<milliseconds>(now - last_line_);
  const milliseconds allowed = phase_ == kStartPhase ? start_limit_ : limits_.no_progress;
  if (!killed_at_ && !stop_at_ && hooks_.cancel && hooks_.cancel->load()) {
    ::kill(child().pid(), SIGTERM);
    stop_at_ = now + kTimeToStop;
  }
  if (!killed_at_ && quiet > allowed) {
    kill(fmt::format("no progress for {} during {}",
                     format_duration_ms(static_cast<double>(allowed.count())), phase_));
  } else if (!killed_at_ && now > started_ + hard_limit_) {
    kill(at_the_limit());
  } else if (!killed_at_ && stop_at_ && now > *stop_at_) {
    kill(fmt::format("interrupted during {}, and it did not stop when asked", phase_));
  } else if (killed_at_ && now > *killed_at_ + kTimeToDie) {
    // Not even a kill ended it: it is abandoned, and this verdict waits no longer.
    session_.abandoned = true;
    give_up_ = give_up_.value_or("") + "; it cannot be killed: stuck in the driver";
    conclude(VerdictStatus::timed_out, *give_up_);
  }
}

void JobWatch::kill(std::string why) {
  child().kill();
  session_.close();
  killed_at_ = Clock::now();
  give_up_ = std::move(why);
}

void JobWatch::conclude(VerdictStatus status, std::string reason) {
  tell_who(job_, verdict_);
  verdict_.status = status;
  verdict_.reason = printable(reason);
  if (verdict_.duration_ms == 0) verdict_.duration_ms = elapsed_ms(started_);
  if (session_.child) verdict_.started_ms = started_ms();
  session_.busy = false;
  done_ = true;
}

// The test itself began after its driver had started; it ended when it told its verdict.
double JobWatch::started_ms() const {
  const auto since = [this](Clock::time_point time) {
    return std::chrono::duration<double, std::milli>(time - began_).count();
  };
  return std::max(since(started_), since(last_line_) - verdict_.duration_ms);
}

}  // namespace gpuready
