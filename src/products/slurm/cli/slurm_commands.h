// The subcommands of `gpuready slurm`; command_slurm.cc has the list.
#pragma once

#include "cli/command_line.h"

namespace gpuready::cli {

void declare_slurm_health(CommandSpec& command);
void declare_slurm_prolog(CommandSpec& command);
void declare_slurm_epilog(CommandSpec& command);
void declare_slurm_install(CommandSpec& command);
void declare_slurm_doctor(CommandSpec& command);

}  // namespace gpuready::cli
