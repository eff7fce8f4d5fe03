// The parent side: who runs when, in which child.
#include "health/worker.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/clock.h"
#include "health/job_watch.h"
#include "health/worker_session.h"

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
  verdict.test = job.test->name;
  verdict.subject = job.subject;
  verdict.executor = job.devices.front().executor;
  if (verdict.executor == "cuda") verdict.uuid = job.devices.front().id;
  verdict.pci_address = job.pci_address;
  verdict.reason = "interrupted before it began";
  return verdict;
}

// The children, and the jobs that they have been given.
class Crew {
 public:
  Crew(const std::vector<TestJob>& jobs, const WorkerHooks& hooks, const WorkerLimits& limits)
      : jobs_(jobs), hooks_(hooks), limits_(limits), workers_(jobs.size()) {
    std::set<std::string> gpus;
    for (const TestJob& job : jobs)
      for (const DeviceChoice& device : job.devices)
        if (device.executor != "cpu") gpus.insert(device.id);
    start_limit_ = limits.start + limits.start_per_gpu * static_cast<int>(gpus.size());
  }

  std::vector<Verdict> run() {
    while (true) {
      if (!cancelled()) start_what_can_run();
      if (!listen()) break;
    }
    std::vector<Verdict> verdicts;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      verdicts.push_back(workers_[i] ? workers_[i]->take() : never_begun(jobs_[i]));
    return verdicts;
  }

 private:
  bool cancelled() const { return hooks_.cancel && hooks_.cancel->load(); }

  void start_what_can_run() {
    std::set<std::string> taken;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (workers_[i] && !workers_[i]->done()) taken.merge(needs_of(jobs_[i]));
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (workers_[i]) continue;
      auto needs = needs_of(jobs_[i]);
      if (std::any_of(needs.begin(), needs.end(),
                      [&](const std::string& need) { return taken.contains(need); }))
        continue;
      workers_[i] = std::make_unique<JobWatch>(jobs_[i], i, session_for(jobs_[i].devices),
                                               start_limit_, limits_, hooks_, began_);
      if (!workers_[i]->done()) taken.merge(std::move(needs));
    }
  }

  WorkerSession& session_for(const std::vector<DeviceChoice>& devices) {
    for (const auto& session : sessions_)
      if (session->devices == devices && session->running() && !session->busy && !session->closed)
        return *session;
    milliseconds limit = start_limit_;  // each job has its own; this one is the last resort
    for (const TestJob& job : jobs_)
      if (job.devices == devices) limit += start_limit_ + test_limit(job, limits_);
    sessions_.push_back(start_session(devices, limit));
    return *sessions_.back();
  }

  bool has_work_to_come(const WorkerSession& session) const {
    for (std::size_t i = 0; i < jobs_.size() && !cancelled(); ++i)
      if (!workers_[i] && jobs_[i].devices == session.devices) return true;
    return false;
  }

  // Until something happened. False when nothing more will: all jobs have their verdicts, and the
  // children have ended.
  bool listen() {
    std::vector<Child*> running;
    for (const auto& session : sessions_) {
      if (!session->busy && !has_work_to_come(*session)) session->close();
      if (!session->running()) continue;
      if (!session->busy && session->closed &&
          Clock::now() > session->closed_at + limits_.no_progress)
        session->child->let_go();
      else
        running.push_back(&*session->child);
    }
    const bool to_come = std::any_of(workers_.begin(), workers_.end(),
                                     [](const auto& worker) { return worker == nullptr; });
    if (running.empty()) return to_come && !cancelled();
    poll_children(running, deadline_in(kPollEvery));
    for (const auto& worker : workers_)
      if (worker) worker->look();
    return true;
  }

  const std::vector<TestJob>& jobs_;
  const WorkerHooks& hooks_;
  const WorkerLimits& limits_;
  const Clock::time_point began_ = hooks_.began.value_or(Clock::now());
  milliseconds start_limit_{};
  std::vector<std::unique_ptr<WorkerSession>> sessions_;
  std::vector<std::unique_ptr<JobWatch>> workers_;  // none yet for what is to come
};

}  // namespace

std::vector<Verdict> run_workers(const std::vector<TestJob>& jobs, const WorkerHooks& hooks,
                                 const WorkerLimits& limits) {
  return Crew(jobs, hooks, limits).run();
}

}  // namespace gpuready
