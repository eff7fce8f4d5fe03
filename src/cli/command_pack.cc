// `gpuready pack ...`: packages of GPU code: what files hold, and what of it this machine can load.
#include <array>

#include "cli/commands.h"
#include "cli/pack_commands.h"

namespace gpuready::cli {
namespace {

// One line a subcommand; each has a file of its own, command_pack_<name>.cc. main.cc lists the
// command from the first of them on.
constexpr std::array<CommandEntry, 0> kSubcommands = {};

}  // namespace

void declare_pack(CommandSpec& command) { command.subcommands = kSubcommands; }

}  // namespace gpuready::cli
