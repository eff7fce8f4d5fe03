// A few threads that stay, for work of microseconds: they spin for a moment before they sleep.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "gpuready/ternary.h"

namespace gpuready::ternary {

class Workers {
 public:
  explicit Workers(unsigned threads);  // the caller's own included; fewer where none can be started
  explicit Workers(const ThreadPool& pool) : pool_(pool) {}
  ~Workers();  // not to be called in a forked process
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  unsigned count() const {
    return pool_ ? pool_->threads : static_cast<unsigned>(threads_.size()) + 1;
  }
  // Calls work(index) with each index below `parts` (at most count()) on a thread of its own, index
  // 0 on the caller's, and returns when all are done. `work` throws nothing. One call at a time.
  // False when a caller's pool came back without having run each once.
  bool run(unsigned parts, const std::function<void(unsigned)>& work);

 private:
  void serve(unsigned index);

  std::optional<ThreadPool> pool_;  // then there are no threads of ours
  std::vector<std::thread> threads_;
  std::atomic<std::uint64_t> round_{0};  // raised for each call; its waiters are the threads
  std::atomic<unsigned> unfinished_{0};
  std::atomic<unsigned> sleeping_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  unsigned parts_ = 0;
  const std::function<void(unsigned)>* work_ = nullptr;
};

// CPUs that this process may use: those of its affinity, and no more than its cgroups' quota gives
// time for. At least 1.
unsigned usable_cpus();

}  // namespace gpuready::ternary
