// What the commands of `slurm` share.
#pragma once

#include <optional>
#include <string>

#include "cli/options.h"

namespace gpuready::cli {

struct SlurmNodeOptions {
  std::optional<std::string> node, scontrol, conf;
};
void add_node(CommandSpec& command, SlurmNodeOptions& options);
Option conf_option(SlurmNodeOptions& options);
void add_scontrol(CommandSpec& command, SlurmNodeOptions& options);

}  // namespace gpuready::cli
