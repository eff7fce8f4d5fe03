#include "slurm/cli/slurm_node.h"

namespace gpuready::cli {

void add_node(CommandSpec& command, SlurmNodeOptions& options) {
  command.add({{.name = "--node",
                .value = &options.node,
                .help = "This node, as slurm.conf names it (default: SLURMD_NODENAME, else the "
                        "host's name)",
                .type = "NAME"},
               conf_option(options)});
}

Option conf_option(SlurmNodeOptions& options) {
  return {.name = "--conf",
          .value = &options.conf,
          .help = "slurm.conf, if not in a usual folder",
          .type = "FILE",
          .files = Files::read};
}

void add_scontrol(CommandSpec& command, SlurmNodeOptions& options) {
  command.add({{.name = "--scontrol",
                .value = &options.scontrol,
                .help = "Slurm's scontrol, if neither in a usual folder nor beside slurmd",
                .type = "PROGRAM",
                .files = Files::read}});
}

}  // namespace gpuready::cli
