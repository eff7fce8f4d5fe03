// What a machine's system or its cloud changes in a cure: on a system without packages nobody can
// install one, and in a cloud nobody can reach a slot.
#pragma once

#include "gpuready/finding.h"
#include "gpuready/machine.h"

namespace gpuready::doctor {

// Says in the finding's cure how its changes are made here, and takes away a command that this
// system cannot run.
void fit_platform(Finding& finding, const Machine& machine);

}  // namespace gpuready::doctor
