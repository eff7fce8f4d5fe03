// Tests in children: one child a device, which sees that device alone, all at once. A child
// that hangs, crashes or is killed costs its own verdict and no other.
//
// A child writes JSON lines to descriptor 3:
//   {"progress":{"phase":"verify","done_bytes":1,"total_bytes":4}}
//   {"partial":{...}}   a verdict without conclusion: what is known after a pass
//   {"verdict":{...}}   the last line
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "gpuready/verdict.h"
#include "health/matmul_benchmark.h"
#include "health/memory_test.h"

namespace gpuready {

struct WorkerJob {
  std::string subject;  // "GPU 0", "host memory"
  std::string uuid;     // of the GPU or MIG instance; empty: host memory, on the CPU
  std::optional<std::string> pci_address;
  MemoryTestOptions options;
  std::optional<MatmulBenchmarkOptions> benchmark =
      std::nullopt;  // run this in place of the memory test
};

struct WorkerProgress {
  std::size_t job = 0;  // index into the jobs
  std::string phase;
  std::uint64_t done_bytes = 0, total_bytes = 0;  // 0 of 0 until the memory is taken
};

struct WorkerLimits {
  // Starting a driver that keeps no state between users takes seconds a GPU.
  std::chrono::milliseconds start{30'000}, start_per_gpu{10'000};
  std::chrono::milliseconds no_progress{20'000};  // between two lines, once the driver has started
  std::chrono::milliseconds test{120'000};        // for the whole test, beside the start
};

struct WorkerHooks {
  std::function<void(const WorkerProgress&)> progress;
  const std::atomic<bool>* cancel = nullptr;  // when set, children stop and tell what they have
};

// One verdict a job, in the same order.
std::vector<Verdict> run_workers(const std::vector<WorkerJob>& jobs, const WorkerHooks& hooks = {},
                                 const WorkerLimits& limits = {});

// The child: `gpuready __worker memory|benchmark (--uuid UUID | --cpu) --options-json JSON`.
// Returns the exit code: 0 when a verdict was written, 2 for wrong usage.
int run_worker(std::span<const std::string> args);

Json to_json(const MemoryTestOptions& options);
Result<MemoryTestOptions> memory_test_options_from_json(const Json& doc);
Json to_json(const MatmulBenchmarkOptions& options);
Result<MatmulBenchmarkOptions> matmul_benchmark_options_from_json(const Json& doc);

}  // namespace gpuready
