// What an XidListener's child sampled while the tests ran, joined with the machine.
#pragma once

#include <vector>

#include "base/clock.h"
#include "gpuready/machine.h"
#include "gpuready/samples.h"
#include "gpuready/verdict.h"
#include "host/probe_document.h"

namespace gpuready {

// Of the GPUs on which something ran. `began`: when the run began, from which times count.
Samples samples_from(const ProbeDocument& heard, const Machine& machine,
                     const std::vector<Verdict>& verdicts, Clock::time_point began);

// Where no one was asked to sample: why. Nothing when there is no GPU that could be sampled.
std::optional<Samples> not_sampled(const Machine& machine);

}  // namespace gpuready
