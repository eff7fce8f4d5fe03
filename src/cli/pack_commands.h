// The subcommands of `gpuready pack`; command_pack.cc has the list.
#pragma once

#include "cli/command_line.h"

namespace gpuready::cli {}  // namespace gpuready::cli
