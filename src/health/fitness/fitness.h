// The fitness checks of a serverless worker, with runpod-python's variables and defaults (1.12.0)
// and its faults mended: memory is judged within the cgroup's limit, the CUDA version is the
// driver's and not the image's nvcc, a dead driver is no "machine without a GPU", and kernels
// really run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpuready/machine.h"
#include "gpuready/verdict.h"
#include "host/host.h"

namespace gpuready {

struct FitnessLimits {
  double min_memory_gib = 4.0;     // RUNPOD_MIN_MEMORY_GB
  double min_disk_percent = 10.0;  // RUNPOD_MIN_DISK_PERCENT, of the file system that holds /
  double network_timeout_s = 5.0;  // RUNPOD_NETWORK_CHECK_TIMEOUT
  std::string min_cuda_version = "11.8";  // RUNPOD_MIN_CUDA_VERSION, of the driver
  double benchmark_limit_s = 2.0;         // RUNPOD_GPU_BENCHMARK_TIMEOUT, a 1024^3 FP32 product
  // "true" in any case, as runpod-python reads them.
  bool skip_gpus = false;    // RUNPOD_SKIP_GPU_CHECK: no test of GPUs but the benchmark
  bool skip_system = false;  // RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: memory, disk, network, CUDA version
                             // and the benchmark
};
// Defaults with the environment's changes; a variable that is no such number is an error naming it.
Result<FitnessLimits> fitness_limits(Host& host);

Verdict memory_fitness(const Machine& machine, const FitnessLimits& limits);
Verdict disk_fitness(const Result<FileSystemSpace>& root, const FitnessLimits& limits);
// `connected_ms` is what tcp_connect_ms() said of the target that the user named.
Verdict network_fitness(const std::string& target, const Result<double>& connected_ms,
                        const FitnessLimits& limits);
Verdict cuda_version_fitness(const Machine& machine, const FitnessLimits& limits);

}  // namespace gpuready
