// Whether a GPU ran at the clock that it may run at while its tests loaded it. A test that compares
// a GPU with itself, or SMs with each other, cannot see that all of it is slow.
#pragma once

#include <vector>

#include "gpuready/machine.h"
#include "gpuready/samples.h"
#include "gpuready/verdict.h"

namespace gpuready {

// A verdict of the test "clocks" for each GPU that was loaded long enough to be judged:
//   failed        the hardware held the clocks back (HW slowdown, thermal slowdown, power brake)
//   for
//                 a tenth of the loaded time or more; or the clock stayed below 0.6 of the greatest
//                 that NVML allows, and no setting and no power limit explains it
//                 the SMs counted less than 0.75 of the cycles that NVML's clock would make
//   passed        else, with the clock reached over the clock allowed
// The clock reached is the upper quartile of the samples while loaded, so that neither the ramp at
// a test's start nor its pauses count. The limit of 0.6 leaves room for what NVML has no reason for
// (voltage limits of consumer GPUs: 0.85 and more of the greatest clock).
std::vector<Verdict> judge_clocks(const Machine& machine, const Samples& samples,
                                  const std::vector<Verdict>& verdicts);

}  // namespace gpuready
