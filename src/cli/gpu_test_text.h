// The text contract of runpod's gpu_test (facts from runpod-python 1.12.0), as a pure function, so
// that the caller's parser works unchanged: it reads standard output only, takes the count from
// "Found N GPUs", counts the lines with "memory allocation test passed", and takes any line that
// holds failed, error, cannot or unable (any case) for a failure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpuready {

struct GpuTestFailure {
  int code = 0;
  std::string text;
};
struct GpuTestGpu {
  std::optional<GpuTestFailure> handle_failure;  // NVML would not give a handle for it
  std::string name, uuid;
  std::optional<GpuTestFailure> failure;  // absent: passed
  std::vector<std::string> notes = {};    // what is degraded
};
struct GpuTestResult {
  std::string kernel_release;
  std::optional<int> cuda_version;           // as cuDriverGetVersion gives it: 13000
  GpuTestFailure cuda_failure;               // used when there is no version
  std::optional<std::string> nvml_failure;   // then the output stops there
  std::optional<std::string> count_failure;  // likewise
  std::vector<GpuTestGpu> gpus;              // by NVML index
  std::string named_libraries;               // "GPUREADY_LIBCUDA=...": they answered; empty: none
};

std::string gpu_test_text(const GpuTestResult& result);
bool gpu_test_passed(const GpuTestResult& result);  // at least one GPU, and all of them passed

}  // namespace gpuready
