// The parent side: who runs when, in which child.
#include "health/worker/worker.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/clock.h"
#include "health/worker/test_watch.h"
#include "health/worker/worker_session.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPollEvery{100};

std::set<std::string> needs_of(const TestJob& job) {
  std::set<std::string> needs;
  for (const DeviceChoice& device : job.devices) needs.insert(to_string(device));
  if (job.exclusive) needs.insert(*job.exclusive);
  return needs;
}

// A verdict on what was not run any more.
Verdict never_begun(const TestJob& job) {
  Verdict verdict;
  identify_subject(job, verdict);
  verdict.reason = "interrupted before it began";
  return verdict;
}

Verdict refused(const TestJob& job, const std::string& why) {
  Verdict verdict;
  identify_subject(job, verdict);
  verdict.reason = why;
  return verdict;
}

// The children, and the jobs that they have been given.
class Crew {
 public:
  Crew(const std::vector<std::vector<TestJob>>& waves, const WorkerHooks& hooks,
       const WorkerLimits& limits)
      : hooks_(hooks), limits_(limits) {
    std::set<std::string> gpus;
    for (std::size_t wave = 0; wave < waves.size(); ++wave)
      for (const TestJob& job : waves[wave]) {
        entries_.push_back({job, wave, nullptr, {}});
        for (const DeviceChoice& device : job.devices)
          if (device.executor != "cpu") gpus.insert(device.id);
      }
    start_limit_ = limits.start + limits.start_per_gpu * static_cast<int>(gpus.size());
  }

  std::vector<Verdict> run() {
    for (; !entries_.empty() && wave_ <= entries_.back().wave; ++wave_) {
      survey();
      do {
        if (!cancelled()) start_what_can_run();
        listen();
      } while (!wave_is_over());
    }
    std::vector<Verdict> verdicts;
    for (const Entry& entry : entries_)
      verdicts.push_back(entry.refused ? refused(entry.job, *entry.refused)
                         : entry.watch ? entry.watch->take()
                                       : never_begun(entry.job));
    return verdicts;
  }

 private:
  struct Entry {
    const TestJob& job;
    std::size_t wave;
    std::unique_ptr<TestWatch> watch;  // none yet for what is to come
    std::optional<std::string> refused;
    bool runs() const { return watch && !watch->done(); }
    bool is_to_come() const { return !watch && !refused; }
  };

  bool cancelled() const { return hooks_.cancel && hooks_.cancel->load(); }

  bool is_open(const DeviceChoice& device) const {
    return std::any_of(sessions_.begin(), sessions_.end(), [&](const auto& session) {
      return session->running() &&
             std::ranges::find(session->devices, device) != session->devices.end();
    });
  }

  // Others may have begun to use a GPU meanwhile.
  void survey() {
    if (wave_ == 0 || !hooks_.survey || cancelled()) return;
    std::vector<Entry*> entries;
    std::vector<const TestJob*> jobs;
    for (Entry& entry : entries_)
      if (entry.wave == wave_ && std::ranges::none_of(entry.job.devices, [&](const auto& device) {
            return is_open(device);
          })) {
        entries.push_back(&entry);
        jobs.push_back(&entry.job);
      }
    if (jobs.empty()) return;
    auto reasons = hooks_.survey(jobs);
    for (std::size_t i = 0; i < std::min(entries.size(), reasons.size()); ++i)
      entries[i]->refused = std::move(reasons[i]);
  }

  void start_what_can_run() {
    std::set<std::string> taken;
    for (const Entry& entry : entries_)
      if (entry.runs()) taken.merge(needs_of(entry.job));
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[i];
      if (!entry.is_to_come() || entry.wave != wave_) continue;
      auto needs = needs_of(entry.job);
      if (std::any_of(needs.begin(), needs.end(),
                      [&](const std::string& need) { return taken.contains(need); }))
        continue;
      entry.watch = std::make_unique<TestWatch>(entry.job, i, session_for(entry.job.devices),
                                                start_limit_, limits_, hooks_, began_);
      if (entry.runs()) taken.merge(std::move(needs));
    }
  }

  WorkerSession& session_for(const std::vector<DeviceChoice>& devices) {
    for (const auto& session : sessions_)
      if (session->devices == devices && session->running() && !session->busy && !session->closed)
        return *session;
    sessions_.push_back(start_session(devices));
    return *sessions_.back();
  }

  bool has_work_to_come(const WorkerSession& session) const {
    return !cancelled() && std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.is_to_come() && entry.job.devices == session.devices;
    });
  }

  // Until something happened.
  void listen() {
    std::vector<RunningJob*> running;
    for (const auto& session : sessions_) {
      if (!session->busy && !has_work_to_come(*session)) session->close(limits_.no_progress);
      if (session->running()) running.push_back(&*session->child);
    }
    if (running.empty()) return;
    poll_jobs(running, deadline_in(kPollEvery), {.cancel = hooks_.cancel});
    for (const Entry& entry : entries_)
      if (entry.watch) entry.watch->look();
  }

  // All its jobs have their verdicts, and the children that have nothing left to do have ended.
  bool wave_is_over() const {
    return std::none_of(entries_.begin(), entries_.end(),
                        [&](const Entry& entry) {
                          return entry.wave == wave_ &&
                                 (entry.is_to_come() ? !cancelled() : entry.runs());
                        }) &&
           std::none_of(sessions_.begin(), sessions_.end(), [&](const auto& session) {
             return session->running() && (session->closed || !has_work_to_come(*session));
           });
  }

  const WorkerHooks& hooks_;
  const WorkerLimits& limits_;
  const Clock::time_point began_ = hooks_.began.value_or(Clock::now());
  milliseconds start_limit_{};
  std::vector<Entry> entries_;
  std::size_t wave_ = 0;
  std::vector<std::unique_ptr<WorkerSession>> sessions_;
};

}  // namespace

std::vector<Verdict> run_waves(const std::vector<std::vector<TestJob>>& waves,
                               const WorkerHooks& hooks, const WorkerLimits& limits) {
  return Crew(waves, hooks, limits).run();
}

std::vector<Verdict> run_workers(const std::vector<TestJob>& jobs, const WorkerHooks& hooks,
                                 const WorkerLimits& limits) {
  return run_waves({jobs}, hooks, limits);
}

}  // namespace gpuready
