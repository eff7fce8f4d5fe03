// The subcommands of `gpuready fleet`.
#pragma once

#include "cli/command_line.h"

namespace gpuready::cli {

void declare_fleet_merge(CommandSpec& command);
void declare_fleet_slow(CommandSpec& command);

}  // namespace gpuready::cli
