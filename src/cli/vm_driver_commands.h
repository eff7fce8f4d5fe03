// The subcommands of `gpuready vm` that make what a guest needs.
#pragma once

#include "cli/command_line.h"

namespace gpuready::cli {

void declare_vm_drivers(CommandSpec& command);
void declare_vm_drivers_fetch(CommandSpec& command);
void declare_vm_drivers_upgrade(CommandSpec& command);
void declare_vm_compat(CommandSpec& command);
void declare_vm_initrd(CommandSpec& command);

}  // namespace gpuready::cli
