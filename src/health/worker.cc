// The parent side: starts one child a job, listens to all, and turns every end into a verdict.
#include "health/worker.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "health/verdict_json.h"
#include "host/process.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPollEvery{100};
constexpr milliseconds kTimeToStop{3'000};  // between being asked to stop and being killed
constexpr milliseconds kTimeToDie{500};     // after a kill; longer means stuck in the kernel
constexpr std::string_view kStartPhase = "driver start";

class Worker {
 public:
  Worker(const TestJob& job, std::size_t index, std::size_t gpus, const WorkerLimits& limits,
         const WorkerHooks& hooks, Clock::time_point began)
      : job_(job), index_(index), limits_(limits), hooks_(hooks), began_(began) {
    start_limit_ = limits.start + limits.start_per_gpu * static_cast<int>(gpus);
    Command command;
    command.program = helper_path();
    command.args = {"__worker", std::string(job.test->name)};
    std::vector<std::string> cuda_devices;
    for (const DeviceChoice& device : job.devices) {
      command.args.insert(command.args.end(), {"--device", to_string(device)});
      if (device.executor == "cuda") cuda_devices.push_back(device.id);
    }
    if (!cuda_devices.empty())
      command.env = {{"CUDA_VISIBLE_DEVICES", join(cuda_devices, ",")},
                     {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                     {"NCCL_NVLS_ENABLE", "0"}};
    command.args.insert(command.args.end(), {"--options-json", dump_line(to_json(job.options))});
    command.timeout = start_limit_ + test_limit(job.options);
    command.document_pipe = true;
    hard_limit_ = command.timeout;
    last_line_ = Clock::now();
    auto child = Child::start(command);
    if (!child) {
      conclude(VerdictStatus::not_tested,
               fmt::format("the test's child could not be started: {}", child.error().message));
      return;
    }
    child_.emplace(std::move(*child));
  }

  bool done() const { return done_; }
  Child* child() { return child_ && !child_->finished() ? &*child_ : nullptr; }
  Verdict take() { return std::move(verdict_); }

  // Reads what has arrived and enforces the limits.
  void look() {
    if (done_) return;
    read_lines();
    if (!done_ && child_->finished()) judge_end();
    if (!done_) enforce();
  }

 private:
  void read_lines() {
    std::string& document = child_->document();
    std::size_t start = 0;
    for (std::size_t end; (end = document.find('\n', start)) != std::string::npos;
         start = end + 1) {
      if (!done_) read_line(std::string_view(document).substr(start, end - start));
    }
    document.erase(0, start);
  }

  void read_line(std::string_view text) {
    auto doc = parse_json(text, "worker", 4 * MiB);
    if (!doc) return;  // a library wrote to our descriptor: nothing that we can use
    last_line_ = Clock::now();
    if (const Json& progress = member(*doc, "progress"); progress.is_object()) {
      phase_ = printable(get_string(progress, "phase").value_or(""));
      if (hooks_.progress) {
        hooks_.progress({index_, phase_, get_uint(progress, "done").value_or(0),
                         get_uint(progress, "total").value_or(0)});
      }
    }
    if (const Json& partial = member(*doc, "partial"); partial.is_object()) {
      if (auto verdict = verdict_from_json(partial, "worker")) verdict_ = std::move(*verdict);
    }
    if (const Json& told = member(*doc, "verdict"); told.is_object()) {
      if (auto verdict = verdict_from_json(told, "worker")) {
        verdict_ = std::move(*verdict);
        has_verdict_ = true;
      }
    }
  }

  // The child has ended: by its verdict if it told one, however it ended after that.
  void judge_end() {
    const ProcessResult& result = child_->result();
    if (has_verdict_) return conclude(verdict_.status, verdict_.reason);
    if (give_up_) return conclude(VerdictStatus::timed_out, *give_up_);
    switch (result.end) {
      case ProcessEnd::timed_out:
        return conclude(VerdictStatus::timed_out,
                        fmt::format("killed during {} at its limit of {}", phase_,
                                    format_duration_ms(static_cast<double>(hard_limit_.count()))));
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

  void judge_signal(int signal) {
    const char* name = ::sigabbrev_np(signal);
    // The kernel ends whoever reads host memory that its hardware reports as bad with SIGBUS.
    const bool bad_host_memory = signal == SIGBUS && job_.on_cpu() && phase_ != kStartPhase;
    conclude(bad_host_memory ? VerdictStatus::failed : VerdictStatus::inconclusive,
             fmt::format("the test's child died during {} of SIG{}{}", phase_, name ? name : "?",
                         bad_host_memory ? ": a hardware memory error" : ""));
  }

  void enforce() {
    const auto now = Clock::now();
    const auto quiet = std::chrono::duration_cast<milliseconds>(now - last_line_);
    const milliseconds allowed = phase_ == kStartPhase ? start_limit_ : limits_.no_progress;
    if (!killed_at_ && !stop_at_ && hooks_.cancel && hooks_.cancel->load()) {
      ::kill(child_->pid(), SIGTERM);
      stop_at_ = now + kTimeToStop;
    }
    if (!killed_at_ && has_verdict_ && quiet > limits_.no_progress) {
      kill("");  // it has told its verdict, and only its end is missing
    } else if (!killed_at_ && !has_verdict_ && quiet > allowed) {
      kill(fmt::format("no progress for {} during {}",
                       format_duration_ms(static_cast<double>(allowed.count())), phase_));
    } else if (!killed_at_ && stop_at_ && now > *stop_at_) {
      kill(fmt::format("interrupted during {}, and it did not stop when asked", phase_));
    } else if (killed_at_ && now > *killed_at_ + kTimeToDie) {
      // Not even a kill ended it: it is abandoned, and this verdict waits no longer.
      give_up_ = give_up_.value_or("") + "; it cannot be killed: stuck in the driver";
      if (has_verdict_) return conclude(verdict_.status, verdict_.reason);
      conclude(VerdictStatus::timed_out, *give_up_);
    }
  }

  void kill(std::string why) {
    child_->kill();
    killed_at_ = Clock::now();
    give_up_ = std::move(why);
  }

  // What the child told so far stays; who was tested is what the parent knows.
  void conclude(VerdictStatus status, std::string reason) {
    verdict_.test = job_.test->name;
    verdict_.subject = job_.subject;
    const DeviceChoice& device = job_.devices.front();
    if (verdict_.executor.empty()) verdict_.executor = device.executor;
    if (device.executor == "cuda" && !verdict_.uuid) verdict_.uuid = device.id;
    if (!verdict_.pci_address) verdict_.pci_address = job_.pci_address;
    if (job_.devices.size() > 1 && !verdict_.peer_uuid) verdict_.peer_uuid = job_.devices[1].id;
    if (job_.options.inject) verdict_.injected_fault = to_string(job_.options.inject->kind);
    verdict_.status = status;
    verdict_.reason = printable(reason);
    if (verdict_.duration_ms == 0) verdict_.duration_ms = elapsed_ms(started_);
    if (child_) verdict_.started_ms = started_ms();
    done_ = true;
  }

  // The test itself began after its driver had started; it ended when it told its verdict.
  double started_ms() const {
    const auto since = [this](Clock::time_point time) {
      return std::chrono::duration<double, std::milli>(time - began_).count();
    };
    if (!has_verdict_) return since(started_);
    return std::max(since(started_), since(last_line_) - verdict_.duration_ms);
  }

  milliseconds test_limit(const TestOptions& options) const {
    const milliseconds by_level = options.level == Level::quick      ? limits_.quick
                                  : options.level == Level::standard ? limits_.standard
                                                                     : limits_.thorough;
    return by_level + milliseconds(static_cast<long>(options.duration_s.value_or(0) * 1000));
  }

  const TestJob& job_;
  const std::size_t index_;
  const WorkerLimits& limits_;
  const WorkerHooks& hooks_;
  const Clock::time_point began_;
  milliseconds start_limit_{}, hard_limit_{};
  std::optional<Child> child_;
  std::string phase_{kStartPhase};
  Clock::time_point started_ = Clock::now(), last_line_;
  std::optional<Clock::time_point> stop_at_, killed_at_;
  std::optional<std::string> give_up_;  // why it was killed
  Verdict verdict_;
  bool has_verdict_ = false, done_ = false;
};

std::set<std::string> needs_of(const TestJob& job) {
  std::set<std::string> needs;
  for (const DeviceChoice& device : job.devices) needs.insert(to_string(device));
  if (job.exclusive) needs.insert(*job.exclusive);
  return needs;
}

// A verdict on what was not run any more.
Verdict never_begun(const TestJob& job) {
  Verdict verdict;
  verdict.test = job.test->name;
  verdict.subject = job.subject;
  verdict.executor = job.devices.front().executor;
  if (verdict.executor == "cuda") verdict.uuid = job.devices.front().id;
  verdict.pci_address = job.pci_address;
  verdict.reason = "interrupted before it began";
  return verdict;
}

}  // namespace

std::vector<Verdict> run_workers(const std::vector<TestJob>& jobs, const WorkerHooks& hooks,
                                 const WorkerLimits& limits) {
  std::set<std::string> gpus;
  for (const TestJob& job : jobs)
    for (const DeviceChoice& device : job.devices)
      if (device.executor != "cpu") gpus.insert(device.id);
  const auto began = hooks.began.value_or(Clock::now());
  const auto cancelled = [&] { return hooks.cancel && hooks.cancel->load(); };
  std::vector<std::unique_ptr<Worker>> workers(jobs.size());  // none yet for what is to come

  const auto start_what_can_run = [&] {
    std::set<std::string> taken;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (workers[i] && !workers[i]->done()) taken.merge(needs_of(jobs[i]));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (workers[i]) continue;
      auto needs = needs_of(jobs[i]);
      if (std::any_of(needs.begin(), needs.end(),
                      [&](const std::string& need) { return taken.contains(need); }))
        continue;
      workers[i] = std::make_unique<Worker>(jobs[i], i, gpus.size(), limits, hooks, began);
      if (!workers[i]->done()) taken.merge(std::move(needs));
    }
  };

  while (true) {
    if (!cancelled()) start_what_can_run();
    std::vector<Child*> running;
    for (const auto& worker : workers)
      if (worker && !worker->done() && worker->child()) running.push_back(worker->child());
    const bool to_come = std::any_of(workers.begin(), workers.end(),
                                     [](const auto& worker) { return worker == nullptr; });
    if (running.empty() && (cancelled() || !to_come)) break;
    if (!running.empty()) poll_children(running, deadline_in(kPollEvery));
    for (const auto& worker : workers)
      if (worker) worker->look();
  }
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    verdicts.push_back(workers[i] ? workers[i]->take() : never_begun(jobs[i]));
  return verdicts;
}

}  // namespace gpuready
