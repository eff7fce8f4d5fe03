// Whether what went wrong in a test may be somebody else's work: a GPU that is shared is slow,
// short of memory, hot. Pure.
#pragma once

#include <vector>

#include "gpuready/machine.h"
#include "gpuready/samples.h"
#include "gpuready/verdict.h"

namespace gpuready {

// Slowness that another's work could have made, or a test that did not end: a figure below its
// limit, not a wrong word or result, hardware that slows itself down, an error of the driver or a
// fault on purpose.
bool may_be_others_work(const Verdict& verdict);
// Whether one of these is of a GPU that others use now.
bool others_use_what_failed(const Machine& now, const std::vector<Verdict>& verdicts);
// Those verdicts become inconclusive: "busy since 1.2 s ...". `seen_ms`: when the machine was
// looked at again, since the run began.
void excuse_busy(const Machine& now, double seen_ms, std::vector<Verdict>& verdicts);
// Likewise where others are gone again: while the test ran, NVML counted more processes than its
// own.
void excuse_shared(const Machine& machine, const Samples& samples, std::vector<Verdict>& verdicts);
// The GPUs, by index, that others used in a tenth of the tests' time: their rates are not compared.
std::vector<int> shared_gpus(const Machine& machine, const Samples& samples,
                             const std::vector<Verdict>& verdicts);

}  // namespace gpuready
