// `gpuready pack ...`: packages of GPU code: what files hold, and what of it this machine can load.
#include "cli/product.h"
#include "pack/cli/pack_commands.h"
#include "pack/store/load_proof.h"
#include "pack/store/model_proof.h"

namespace gpuready::cli {
namespace {

// One line a subcommand; each has a file of its own, command_pack_<name>.cc.
constexpr CommandEntry kPackSubcommands[] = {
    {"inspect", "List the device code in files and archives, and which GPUs it runs on",
     declare_pack_inspect},
    {"explain", "Say what each GPU can load, why not, and what would help", declare_pack_explain},
    {"key", "Create a key pair that signs releases", declare_pack_key},
    {"init", "Write a first pack.toml for folders that are built already", declare_pack_init},
    {"build", "Build the archives of all variants that a pack.toml describes", declare_pack_build},
    {"publish", "Sign a release and write it to a folder for any web server", declare_pack_publish},
    {"adopt", "Make a signed release from existing archives", declare_pack_adopt},
    {"select", "Say which variant of a release this or another machine gets, and why",
     declare_pack_select},
    {"install", "Download, verify and test-load this machine's variant, then switch to it",
     declare_pack_install},
    {"list", "List installed packages", declare_pack_list},
    {"verify", "Hash every installed file and check the signature", declare_pack_verify},
    {"rollback", "Go back to the previous version", declare_pack_rollback},
    {"gc", "Remove older versions, and files that no version needs", declare_pack_gc},
    {"uninstall", "Remove a package", declare_pack_uninstall},
    {"env", "Print the shell command that puts a package's libraries first", declare_pack_env},
};

constexpr OwnMode kModes[] = {
    {pack::kLoadChild, pack::run_load_child},
    {pack::kLoadHere, pack::run_load_here},
    {pack::kModelChild, pack::run_model_child},
};

void declare_pack(CommandSpec& command) { command.subcommands = kPackSubcommands; }

}  // namespace

extern const Product pack_product;
const Product pack_product = {
    .command = {"pack", "Inspect, build, sign and install GPU code packages", declare_pack},
    .modes = kModes,
};

}  // namespace gpuready::cli
