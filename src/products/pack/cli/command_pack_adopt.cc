#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "pack/cli/pack_commands.h"
#include "pack/cli/pack_options.h"
#include "pack/release/adopt.h"
#include "pack/release/scan.h"
#include "pack/report/release_report.h"

namespace gpuready::cli {
namespace {

struct PackAdoptOptions {
  Globals globals;
  std::vector<std::string> archives, exclude;
  pack::AdoptedRelease named;
  std::string key, to;
  std::optional<std::string> recipe, password_file;
  unsigned level = 9;
};

std::vector<std::string> files_of_archive(const std::string& text) {
  return {text, text.substr(text.find('=') + 1)};
}

Result<PublishReport> adopt(const PackAdoptOptions& options) {
  const auto host = make_live_host();
  std::optional<pack::Recipe> written;
  if (options.recipe) written = TRY(read_recipe(*host, *options.recipe, false));
  auto recipe = TRY(pack::adopted_recipe(written, options.named));
  const auto packages =
      TRY(pack::parse_existing_packages(options.archives, recipe, options.recipe.value_or("")));
  const auto key = TRY(read_secret_key(*host, options.key, options.password_file));
  TRY(make_named_folder("--to", options.to));
  TRY(pack::check_version(*host, recipe, key.public_key(), options.to));
  ProgressLine line(options.globals.quiet);
  pack::AdoptOptions how;
  how.work_folder = options.to + "/.gpuready-adopt";
  how.exclude = options.exclude;
  how.build.scan = pack::scan_entries;
  how.build.level = static_cast<int>(options.level);
  how.build.progress = [&](const std::string& variant, const std::string& what) {
    line.show(variant + ": " + what);
  };
  pack::PublishOptions release;
  release.out_folder = options.to;
  release.now_unix_seconds = TRY(host->identity()).unix_seconds;
  PublishReport report{options.to, {}, key.public_key()};
  TRY(pack::adopt(*host, recipe, packages, how, [&](const std::string& built) -> Result<void> {
    release.built_folder = built;
    report.published = TRY(pack::publish(*host, recipe, key, release));
    return {};
  }));
  return report;
}

Result<int> run_pack_adopt(const PackAdoptOptions& options) {
  const auto start = Clock::now();
  const auto report = TRY(adopt(options));
  return deliver_report(begin_envelope("pack adopt"), report, start, options.globals);
}

}  // namespace

void declare_pack_adopt(CommandSpec& command) {
  auto options = std::make_shared<PackAdoptOptions>();
  command.run = [options] { return run_pack_adopt(*options); };
  command.add({
      {.name = "ARCHIVE",
       .value = &options->archives,
       .help = "The variants: VARIANT=FILE, or files whose names end with the variant, such as "
               "gpu-libs-legacy.tar.gz",
       .required = true,
       .files = Files::read,
       .files_of = files_of_archive},
      {.name = "--recipe",
       .value = &options->recipe,
       .help = "A pack.toml with models, probes, floors and waivers; its folders are not used",
       .type = "FILE",
       .files = Files::read},
      {.name = "--name",
       .value = &options->named.name,
       .help = "The package's name (default: the recipe's)",
       .type = "NAME"},
      {.name = "--version",
       .value = &options->named.version,
       .help = "Its version, higher than the previous one (default: the recipe's)",
       .type = "VERSION"},
      signing_key_option(options->key),
      release_folder_option(options->to),
      password_option(options->password_file),
      {.name = "--exclude",
       .value = &options->exclude,
       .help = "Leave out files that match these patterns, such as '**/libcuda.so*'",
       .type = "LIST",
       .commas = true},
      {.name = "--system",
       .value = &options->named.system_libraries,
       .help = "Libraries that the machine provides",
       .type = "LIST",
       .commas = true},
      {.name = "--waive",
       .value = &options->named.waivers,
       .help = "Accept what is wrong with a file (a pattern), for this reason",
       .type = "FILE=REASON"},
      level_option(options->level),
  });
  add_output(command, options->globals);
  command.footer =
      "Unpacks and scans each archive and packs it again, file by file; the architectures are "
      "those\non which all of its files load. Exit codes: 0 published; 2 refused, with every "
      "reason.";
}

}  // namespace gpuready::cli
