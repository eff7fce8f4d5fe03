// Causes of low figures: what held a GPU's clocks back while the test ran that measured them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpuready/machine.h"
#include "gpuready/samples.h"
#include "gpuready/verdict.h"

namespace gpuready {

// "HW thermal slowdown during 62% of the test (up to 92 C)", the most frequent first; nothing when
// nothing held the clocks back for a tenth of the test, or nothing was sampled meanwhile.
std::optional<std::string> throttling_during(const Verdict& verdict, int gpu,
                                             const Samples& samples);

// Appends the cause to the reason of each verdict that has a metric below its threshold.
void explain_low_figures(const Machine& machine, const Samples& samples,
                         std::vector<Verdict>& verdicts);

}  // namespace gpuready
