// The subcommands of `gpuready fleet`.
#pragma once

#include "cli/command_line.h"

namespace gpuready::cli {

void declare_fleet_merge(CommandSpec& command);

}  // namespace gpuready::cli
