// The subcommands of `gpuready vm`; command_vm.cc has the list.
#pragma once

#include "cli/command_line.h"

namespace gpuready::cli {

void declare_vm_list(CommandSpec& command);
void declare_vm_show(CommandSpec& command);
void declare_vm_plan(CommandSpec& command);
void declare_vm_attach(CommandSpec& command);
void declare_vm_detach(CommandSpec& command);
void declare_vm_status(CommandSpec& command);
void declare_vm_recover(CommandSpec& command);
void declare_vm_hold(CommandSpec& command);
void declare_vm_doctor(CommandSpec& command);
void declare_vm_args(CommandSpec& command);
void declare_vm_plug(CommandSpec& command);
void declare_vm_unplug(CommandSpec& command);

}  // namespace gpuready::cli
