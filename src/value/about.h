// What a verdict or a finding is about.
#pragma once

#include "gpuready/finding.h"
#include "gpuready/machine.h"
#include "gpuready/verdict.h"

namespace gpuready {

// Of this GPU, of a MIG instance of it (by its address), or of a pair that it is one of.
bool is_about(const Verdict& verdict, const Gpu& gpu);
// Itself; what it explains is not looked at.
bool is_about(const Finding& finding, const Gpu& gpu);

}  // namespace gpuready
