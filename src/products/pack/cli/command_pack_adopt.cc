#include <fmt/format.h>

#include <algorithm>
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
  std::vector<std::string> archives, exclude, system, waived;
  std::string key, to;
  std::optional<std::string> recipe, name, version, password_file;
  unsigned level = 9;
};

std::vector<std::string> files_of_archive(const std::string& text) {
  return {text, text.substr(text.find('=') + 1)};
}

Result<pack::Recipe> recipe_of(Host& host, const PackAdoptOptions& options) {
  pack::Recipe recipe;
  if (options.recipe) recipe = TRY(read_recipe(host, *options.recipe, false));
  if (!options.recipe && (!options.name || !options.version))
    return fail(ErrorKind::bad_input, "name a --recipe, or --name and --version");
  recipe.name = options.name.value_or(recipe.name);
  recipe.version = options.version.value_or(recipe.version);
  recipe.system_libraries.insert(recipe.system_libraries.end(), options.system.begin(),
                                 options.system.end());
  for (const auto& text : options.waived) recipe.waivers.push_back(TRY(pack::parse_waiver(text)));
  if (const auto wrong = pack::wrong_with_name(recipe.name))
    return fail(ErrorKind::bad_input, fmt::format("--name {}: {}", recipe.name, *wrong));
  if (!parse_version(recipe.version))
    return fail(ErrorKind::bad_input,
                fmt::format("--version {}: a version is digits and dots", recipe.version));
  return recipe;
}

Result<PublishReport> adopt(const PackAdoptOptions& options) {
  const auto host = make_live_host();
  auto recipe = TRY(recipe_of(*host, options));
  std::vector<pack::ExistingPackage> packages;
  for (const auto& text : options.archives) {
    packages.push_back(TRY(pack::parse_existing_package(text)));
    const auto& variant = packages.back().variant;
    if (std::ranges::count(packages, variant, &pack::ExistingPackage::variant) > 1)
      return fail(ErrorKind::bad_input,
                  fmt::format("two archives are the variant {}: write VARIANT=FILE", variant));
  }
  for (const auto& variant : recipe.variants)
    if (std::ranges::find(packages, variant.name, &pack::ExistingPackage::variant) ==
        packages.end())
      return fail(ErrorKind::bad_input, fmt::format("{}: there is no archive of variant {}",
                                                    *options.recipe, variant.name));
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
       .value = &options->name,
       .help = "The package's name (default: the recipe's)",
       .type = "NAME"},
      {.name = "--version",
       .value = &options->version,
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
       .value = &options->system,
       .help = "Libraries that the machine provides",
       .type = "LIST",
       .commas = true},
      {.name = "--waive",
       .value = &options->waived,
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
