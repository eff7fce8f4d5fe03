// Takes samples on a thread of its own and keeps what they show, for whoever asks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "exporter/report/observed.h"

namespace gpuready::cli {

struct SamplingOptions {
  std::vector<std::string> sample_args;
  std::chrono::milliseconds interval{5'000}, limit{0};
  // What a machine shows, and what is known from earlier tests; both are called on the thread.
  std::function<Report(Machine)> judge;
  std::function<Result<KeptResults>()> read_kept;
};

class Sampling {
 public:
  explicit Sampling(SamplingOptions options);
  ~Sampling();  // waits for the sample that is being taken, which is cancelled

  using Snapshot = std::shared_ptr<const exporter::Observed>;
  Snapshot observed() const;
  Snapshot first();  // waits for the first sample

 private:
  void run();
  void take();
  void publish(exporter::Observed observed);

  const SamplingOptions options_;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Snapshot observed_;  // only the thread replaces it
  std::thread thread_;
};

// Seconds of the clock that Observed counts in.
double monotonic_seconds();

}  // namespace gpuready::cli
