// A few threads that stay, for work of microseconds: they spin for a moment before they sleep, and
// no call waits for one that sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "gpuready/ternary.h"

namespace gpuready::ternary {

// What decides how many threads a call is worth (bench_ternary_threads measures the outcome).
struct ThreadCosts {
  double share_ns = 4000;    // a thread that spins takes a share of at least this much
  double wake_ns = 12000;    // what the caller pays to wake a thread that sleeps, before it is seen
  double wake_share = 0.05;  // of a call's time, may be paid so
  double spin_ns = 50000;    // for which a thread waits for the next call before it sleeps
};
// Those of this process. Tests change them, before any engine is made.
ThreadCosts& thread_costs();

class Workers {
 public:
  explicit Workers(unsigned threads);  // the caller's own included; fewer where none can be started
  explicit Workers(const ThreadPool& pool) : pool_(pool) {}
  ~Workers();  // not to be called in a forked process
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  unsigned count() const { return pool_ ? pool_->threads : static_cast<unsigned>(others_) + 1; }
  // How many threads, the caller's included, work is worth that takes one thread `ns`: as many as
  // have a fair share each, of threads that are awake; of those that sleep as many as cost little
  // beside the work, or all where calls follow each other so soon that they would stay awake.
  // Of the call to run() that follows.
  unsigned worth(double ns);
  // Calls work(index) once with each index below `parts` (at most count()), 0 on the caller's
  // thread, and returns when all are done. What a thread has not begun when the caller's own part
  // is done, the caller does: parts that take pieces of the work until there are none left lose
  // nothing by a thread that is late. `work` throws nothing. One call at a time. False when a
  // caller's pool came back without having run each once.
  template <class Work>
  bool run(unsigned parts, const Work& work) {
    return run(parts,
               Task{[](const void* w, unsigned i) { (*static_cast<const Work*>(w))(i); }, &work});
  }

 private:
  struct Task {
    void (*call)(const void* work, unsigned index) = nullptr;
    const void* work = nullptr;
    void operator()(unsigned index) const { call(work, index); }
  };
  enum State : std::uint32_t { kAwake, kAsleep, kPosted, kBusy, kStop };
  struct alignas(64) Seat {
    std::atomic<std::uint32_t> state{kAwake};
    std::thread thread;
  };
  void serve(unsigned index);
  void post(Seat& seat);
  bool run(unsigned parts, Task task);
  bool run_by_pool(unsigned parts, Task task);

  std::optional<ThreadPool> pool_;  // then there are no threads of ours
  std::unique_ptr<Seat[]> seats_;   // a thread each, but for the caller's
  unsigned others_ = 0;
  std::chrono::nanoseconds spin_{0};
  Task task_;
  double wake_ns_ = thread_costs().wake_ns;  // as seen, a running mean
  bool timed_ = false;                       // the call is worth several threads, if they are awake
  std::chrono::steady_clock::time_point ended_{};  // of the last such call
};

Result<void> check_threads(unsigned threads);  // at most kMostThreads

// CPUs that this process may use: those of its affinity, and no more than its cgroups' quota gives
// time for. At least 1.
unsigned usable_cpus();

}  // namespace gpuready::ternary
