// `gpuready vm ...`: GPUs for virtual machines, and their drivers.
#include "cli/commands.h"
#include "cli/vm_driver_commands.h"

namespace gpuready::cli {
namespace {

// One line a subcommand; each has a file of its own, command_vm_<name>.cc.
constexpr CommandEntry kSubcommands[] = {
    {"drivers", "Bundles of driver files for guests: make, list, check", declare_vm_drivers},
    {"compat", "Say whether a container image's CUDA runs on a driver", declare_vm_compat},
};

}  // namespace

void declare_vm(CommandSpec& command) { command.subcommands = kSubcommands; }

}  // namespace gpuready::cli
