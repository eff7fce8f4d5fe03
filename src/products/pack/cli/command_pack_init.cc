#include <filesystem>
#include <memory>

#include "cli/options.h"
#include "pack/cli/pack_commands.h"
#include "pack/cli/pack_options.h"
#include "pack/release/draft.h"
#include "pack/release/scan.h"

namespace gpuready::cli {
namespace {

struct PackInitOptions {
  std::vector<std::string> folders;
  std::string name, version = "0.1.0", out = "-";
};

std::vector<std::string> folder_of_variant(const std::string& text) {
  return {text.substr(text.find('=') + 1)};
}

Result<int> run_pack_init(const PackInitOptions& options) {
  const auto host = make_live_host();
  if (const auto wrong = pack::wrong_with_name(options.name))
    return fail(ErrorKind::bad_input, "--name: " + *wrong);
  if (!parse_version(options.version))
    return fail(ErrorKind::bad_input, "--version: a version is digits and dots");
  std::vector<pack::ExistingPackage> folders;
  for (const auto& text : options.folders)
    folders.push_back(TRY(pack::parse_existing_package(text)));
  const auto out = options.out == "-" ? "pack.toml" : options.out;
  const auto beside = std::filesystem::absolute(out).parent_path().string();
  const auto text = TRY(pack::draft_recipe(*host, options.name, options.version, folders,
                                           TRY(host->real_path(beside)), pack::scan_entries));
  TRY(write_file(options.out, text));
  return static_cast<int>(Exit::ok);
}

}  // namespace

void declare_pack_init(CommandSpec& command) {
  auto options = std::make_shared<PackInitOptions>();
  command.run = [options] { return run_pack_init(*options); };
  command.add({
      {.name = "FOLDER",
       .value = &options->folders,
       .help = "The folders of the variants: VARIANT=FOLDER, or folders whose names end with the "
               "variant",
       .required = true,
       .files = Files::read,
       .files_of = folder_of_variant},
      {.name = "--name",
       .value = &options->name,
       .help = "The package's name",
       .type = "NAME",
       .required = true},
      {.name = "--version",
       .value = &options->version,
       .help = "Its version (default: 0.1.0)",
       .type = "VERSION"},
      {.name = "--out",
       .value = &options->out,
       .help = "Where the recipe is written (default: standard output)",
       .type = "FILE",
       .files = Files::written},
  });
  command.footer = "Exit codes: 0 written; 2 wrong usage, or a folder that no variant can be.";
}

}  // namespace gpuready::cli
