// The subcommands of `gpuready vm`; command_vm.cc has the list.
#pragma once

#include "cli/command_line.h"

namespace gpuready::cli {

void declare_vm_list(CommandSpec& command);

}  // namespace gpuready::cli
