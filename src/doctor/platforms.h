// What a machine's system or its cloud changes in a cure: some systems install no packages, and a
// cloud's customer reaches neither power nor slots.
#pragma once

#include <string_view>

#include "gpuready/finding.h"
#include "gpuready/machine.h"

namespace gpuready::doctor {

// Whether a cure or a command has these words (in lower case) from a word's beginning on: "boot
// with" is in "Boot with ..." and not in "Reboot with ...".
bool advises(std::string_view advice, std::string_view words);

bool is_talos(const Machine& machine);

// It installs no packages.
bool is_fixed_system(const Machine& machine);

// Says in the finding's cure how its changes are made here, and takes away a command that this
// system cannot run.
void fit_platform(Finding& finding, const Machine& machine);

}  // namespace gpuready::doctor
