// In which order GPUs measure their bandwidth.
#pragma once

#include <vector>

#include "gpuready/machine.h"
#include "health/job.h"

namespace gpuready {

// One GPU of each host bridge at a time (all that are behind an unknown one after each other), and,
// where there are several GPUs, all of them together in a last wave.
std::vector<std::vector<TestJob>> bandwidth_waves(const Machine& machine,
                                                  std::vector<TestJob> jobs);

}  // namespace gpuready
