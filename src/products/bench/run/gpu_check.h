// Our own quick check of the GPU's health, in a child, before and after a run.
#pragma once

#include <optional>
#include <string>

#include "jobs/job.h"

namespace gpuready::bench {

struct GpuCheck {
  bool sick = false;
  std::optional<std::string> finding;  // why it is not known to be fit
};
GpuCheck check_gpu(const std::string& uuid, const JobWatch& watch);

// By how the child ended, and the report that it wrote.
GpuCheck gpu_check_of(const Result<JobOutcome>& outcome);

}  // namespace gpuready::bench
