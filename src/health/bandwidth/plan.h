// In which order GPUs measure their bandwidth.
#pragma once

#include <vector>

#include "gpuready/machine.h"
#include "health/worker/job.h"

namespace gpuready {

struct BandwidthPlan {
  // One GPU of each host bridge at a time, and all that are behind an unknown one after each other;
  // GPUs whose links no one measures can do other work meanwhile.
  std::vector<TestJob> alone;
  std::vector<TestJob> together;  // where there are several GPUs; a wave of its own
};
BandwidthPlan plan_bandwidth(const Machine& machine, std::vector<TestJob> jobs);

}  // namespace gpuready
