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
     declare_pack_inspect,
     "pack inspect model.so\n"
     "pack inspect wheels/ --details"},
    {"explain", "Say what each GPU can load, why not, and what would help", declare_pack_explain,
     "pack explain model.so  # on this machine's GPUs\n"
     "pack explain model.so --gpu 8.6 --driver 535"},
    {"key", "Create a key pair that signs releases", declare_pack_key,
     "pack key release  # release.key and release.pub\n"
     "pack key ci --no-password"},
    {"init", "Write a first pack.toml for folders that are built already", declare_pack_init,
     "pack init cpu=build/cpu cuda=build/cuda --name libs\n"
     "pack init build/* --name libs --version 1.2 --out pack.toml"},
    {"build", "Build the archives of all variants that a pack.toml describes", declare_pack_build,
     "pack build\n"
     "pack build --variant cpu --no-build"},
    {"publish", "Sign a release and write it to a folder for any web server", declare_pack_publish,
     "pack publish --key release.key --to dist\n"
     "pack publish --key release.key --to dist --require-proof proof"},
    {"adopt", "Make a signed release from existing archives", declare_pack_adopt,
     "pack adopt cpu=a.tgz --name libs --version 1.2 --key my.key --to dist\n"
     "pack adopt libs-*.zip --name libs --version 1.2 --key my.key --to d"},
    {"select", "Say which variant of a release this or another machine gets, and why",
     declare_pack_select,
     "pack select dist --key release.pub\n"
     "pack select dist --key release.pub --gpu H100 --driver 550"},
    {"install", "Download, verify and test-load this machine's variant, then switch to it",
     declare_pack_install,
     "pack install dist --key release.pub\n"
     "pack install dist --key release.pub --to libs --dry-run"},
    {"list", "List installed packages", declare_pack_list,
     "pack list\n"
     "pack list --to libs"},
    {"verify", "Hash every installed file and check the signature", declare_pack_verify,
     "pack verify libs\n"
     "pack verify --to libs"},
    {"rollback", "Go back to the previous version", declare_pack_rollback,
     "pack rollback libs\n"
     "pack rollback --to libs"},
    {"gc", "Remove older versions, and files that no version needs", declare_pack_gc,
     "pack gc libs\n"
     "pack gc --to libs"},
    {"uninstall", "Remove a package", declare_pack_uninstall,
     "pack uninstall libs\n"
     "pack uninstall --to libs"},
    {"env", "Print the shell command that puts a package's libraries first", declare_pack_env,
     "pack env libs  # eval \"$(gpuready pack env libs)\"\n"
     "pack env --to libs"},
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
    .command = {"pack", "Inspect, build, sign and install GPU code packages", declare_pack,
                "pack inspect model.so\n"
                "pack explain model.so --gpu H100 --driver 550"},
    .modes = kModes,
};

}  // namespace gpuready::cli
