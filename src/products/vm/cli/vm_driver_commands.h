// The subcommands of `gpuready vm` that make what a guest needs.
#pragma once

#include "cli/command_line.h"
#include "vm/drivers/collect.h"

namespace gpuready::cli {

// Which driver and modules a bundle takes of what it is made of.
void add_collect_options(CommandSpec& command, vm::CollectOptions& collect);

void declare_vm_drivers(CommandSpec& command);
void declare_vm_drivers_fetch(CommandSpec& command);
void declare_vm_drivers_upgrade(CommandSpec& command);
void declare_vm_compat(CommandSpec& command);
void declare_vm_initrd(CommandSpec& command);

}  // namespace gpuready::cli
