// The subcommands of `gpuready pack`; command_pack.cc has the list.
#pragma once

#include "cli/command_line.h"

namespace gpuready::cli {

void declare_pack_inspect(CommandSpec& command);
void declare_pack_explain(CommandSpec& command);

}  // namespace gpuready::cli
