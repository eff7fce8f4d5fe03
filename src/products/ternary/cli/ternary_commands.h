// The subcommands of `gpuready ternary`; command_ternary.cc has the list.
#pragma once

#include "cli/command_line.h"

namespace gpuready::cli {

void declare_ternary_inspect(CommandSpec& command);
void declare_ternary_convert(CommandSpec& command);
void declare_ternary_verify(CommandSpec& command);
void declare_ternary_bench(CommandSpec& command);

}  // namespace gpuready::cli
