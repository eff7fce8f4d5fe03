// What a machine's system or its cloud changes in a cure: some systems install no packages, and a
// cloud's customer reaches neither power nor slots.
#pragma once

#include "gpuready/finding.h"
#include "gpuready/machine.h"

namespace gpuready::doctor {

// It installs no packages.
bool is_fixed_system(const Machine& machine);

// Says in the finding's cure how its changes are made here, and takes away a command that this
// system cannot run.
void fit_platform(Finding& finding, const Machine& machine);

}  // namespace gpuready::doctor
