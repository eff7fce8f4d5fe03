// `gpuready pack ...`: packages of GPU code: what files hold, and what of it this machine can load.
#include "cli/commands.h"
#include "cli/pack_commands.h"

namespace gpuready::cli {
namespace {

// One line a subcommand; each has a file of its own, command_pack_<name>.cc.
constexpr CommandEntry kSubcommands[] = {
    {"inspect", "List the device code in files and folders, and which GPUs it runs on",
     declare_pack_inspect},
    {"explain", "Say what each GPU here would load, why not, and what would help",
     declare_pack_explain},
};

}  // namespace

void declare_pack(CommandSpec& command) { command.subcommands = kSubcommands; }

}  // namespace gpuready::cli
