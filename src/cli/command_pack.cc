// `gpuready pack ...`: packages of GPU code: what files hold, and what of it this machine can load.
#include "cli/commands.h"
#include "cli/pack_commands.h"

namespace gpuready::cli {
namespace {

// One line a subcommand; each has a file of its own, command_pack_<name>.cc.
constexpr CommandEntry kPackSubcommands[] = {
    {"inspect", "List the device code in files and archives, and which GPUs it runs on",
     declare_pack_inspect},
    {"explain", "Say what each GPU here would load, why not, and what would help",
     declare_pack_explain},
    {"key", "Make a pair of keys that sign releases", declare_pack_key},
    {"build", "Make the archives of all variants that a pack.toml describes", declare_pack_build},
    {"publish", "Sign a release and put it into a folder that any web server serves",
     declare_pack_publish},
    {"adopt", "Sign packages that exist as archives, as a release", declare_pack_adopt},
    {"select", "Say which variant of a release this machine, or another, gets, and why",
     declare_pack_select},
    {"install", "Fetch, verify and try the variant that this machine loads, then switch to it",
     declare_pack_install},
    {"list", "List what is installed", declare_pack_list},
    {"verify", "Hash every installed file and check the signature", declare_pack_verify},
    {"rollback", "Go back to the version before", declare_pack_rollback},
    {"gc", "Remove versions before that, and files that no version needs", declare_pack_gc},
    {"uninstall", "Remove a package", declare_pack_uninstall},
    {"env", "Print the shell's line that puts a package's libraries first", declare_pack_env},
};

}  // namespace

void declare_pack(CommandSpec& command) { command.subcommands = kPackSubcommands; }

}  // namespace gpuready::cli
