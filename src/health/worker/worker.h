// Tests in children: a child a device (or pair), which sees that alone and runs its tests one after
// the other. A child that hangs, crashes or is killed costs the verdict of that test; another child
// takes the tests that follow.
//
// A child reads a JSON line from descriptor 3 for each test, until its end:
//   {"test":"memory","options":{...}}
// and writes JSON lines there:
//   {"progress":{"phase":"verify","done":1,"total":4}}
//   {"partial":{...}}   a verdict without conclusion: what is known after a pass
//   {"verdict":{...},"more":true}   the end of this test, and whether the child can run another
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "health/worker/job.h"

namespace gpuready {

struct WorkerProgress {
  std::size_t job = 0;  // index into the jobs
  std::string phase;
  std::uint64_t done = 0, total = 0;  // 0 of 0: not known yet
};

struct WorkerLimits {
  // Starting a driver that keeps no state between users takes seconds a GPU.
  std::chrono::milliseconds start{30'000}, start_per_gpu{10'000};
  std::chrono::milliseconds no_progress{20'000};  // between two lines, once the driver has started
  // For the whole test, beside the start and what duration_s asks for.
  std::chrono::milliseconds quick{120'000}, standard{300'000}, thorough{1'800'000};

  // All verdicts of tests that run at once are there after `total`, whatever hangs.
  static WorkerLimits within(std::chrono::milliseconds total);
};

struct WorkerHooks {
  std::function<void(const WorkerProgress&)> progress;
  const std::atomic<bool>* cancel = nullptr;  // when set, children stop and tell what they have
  // Asked before each wave but the first, of jobs whose devices none of our children has open: why
  // each of them is not to be run after all, in the same order.
  std::function<std::vector<std::optional<std::string>>(std::span<const TestJob* const>)> survey =
      {};
  // What Verdict::started_ms counts from; absent: the call of run_workers.
  std::optional<std::chrono::steady_clock::time_point> began = std::nullopt;
};

// One verdict a job, in the same order; WorkerProgress::job counts through all waves. Each wave
// ends before the next begins. Its jobs run at the same time but for those that need the same
// device or TestJob::exclusive: whenever one ends, the first in the order that can run begins.
std::vector<Verdict> run_waves(const std::vector<std::vector<TestJob>>& waves,
                               const WorkerHooks& hooks = {}, const WorkerLimits& limits = {});
// One wave.
std::vector<Verdict> run_workers(const std::vector<TestJob>& jobs, const WorkerHooks& hooks = {},
                                 const WorkerLimits& limits = {});

// The child: `gpuready __worker --device DEVICE [--device DEVICE]`. Returns the exit code: 0 when
// all that was asked for has its verdict, 2 for wrong usage.
int run_worker(std::span<const std::string> args);

}  // namespace gpuready
