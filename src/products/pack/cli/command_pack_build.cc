#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "base/cuda_releases.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "pack/cli/pack_commands.h"
#include "pack/cli/pack_options.h"
#include "pack/release/containerfile.h"
#include "pack/release/scan.h"
#include "pack/report/exit_rules.h"
#include "pack/report/release_report.h"

namespace gpuready::cli {
namespace {

struct PackBuildOptions {
  Globals globals;
  std::string recipe = kDefaultRecipe, out = "build/pack";
  std::vector<std::string> variants;
  std::optional<std::string> containerfile;
  bool no_build = false;
  unsigned level = 9;
};

Result<BuildReport> build(const PackBuildOptions& options) {
  const auto host = make_live_host();
  const auto recipe = TRY(read_recipe(*host, options.recipe));
  const auto variants = TRY(pack::variants_named(recipe, options.variants, options.recipe));
  TRY(make_named_folder("--out", options.out));
  ProgressLine line(options.globals.quiet);
  pack::BuildOptions how;
  how.out_folder = options.out;
  how.level = static_cast<int>(options.level);
  how.run_commands = !options.no_build;
  how.scan = pack::scan_entries;
  how.progress = [&](const std::string& variant, const std::string& what) {
    line.show(variant + ": " + what);
  };
  how.watch.cancel = &interrupted();
  BuildReport report{recipe.name, recipe.version, options.out, {}};
  for (const auto& variant : variants)
    report.variants.push_back(TRY(pack::build_variant(*host, recipe, variant, how)));
  return report;
}

// Nothing is built: the text goes where output goes.
Result<void> print_containerfile(const PackBuildOptions& options) {
  const auto host = make_live_host();
  const auto recipe = TRY(read_recipe(*host, options.recipe));
  const auto cuda = parse_version(*options.containerfile);
  if (!cuda)
    return fail(
        ErrorKind::bad_input,
        fmt::format("--containerfile {}: not a CUDA release such as 12.9", *options.containerfile));
  const auto folder =
      std::filesystem::absolute(options.recipe).lexically_normal().parent_path().string();
  const auto text = pack::containerfile(recipe, folder, *cuda);
  if (!text)
    return fail(text.error().kind, fmt::format("{}: --containerfile {}: {}", options.recipe,
                                               *options.containerfile, text.error().message));
  return write_file("-", *text);
}

Result<int> run_pack_build(const PackBuildOptions& options) {
  if (options.containerfile) {
    const auto printed = print_containerfile(options);
    return printed ? 0 : complain(printed.error());
  }
  const auto start = Clock::now();
  catch_interrupts();
  const auto report = TRY(build(options));
  Envelope envelope = begin_envelope("pack build");
  envelope.exit = exit_of(report.variants);
  return deliver_report(envelope, report, start, options.globals);
}

}  // namespace

void declare_pack_build(CommandSpec& command) {
  std::vector<std::string> releases;
  for (const auto& known : cuda_releases()) releases.emplace_back(known.cuda);
  auto options = std::make_shared<PackBuildOptions>();
  command.run = [options] { return run_pack_build(*options); };
  command.add({
      {.name = "RECIPE",
       .value = &options->recipe,
       .help = "The recipe (default: pack.toml)",
       .files = Files::read,
       .files_of = files_of_recipe},
      {.name = "--out",
       .value = &options->out,
       .help = "Folder for the archives (default: build/pack)",
       .type = "FOLDER",
       .files = Files::written},
      {.name = "--variant",
       .value = &options->variants,
       .help = "Only these variants",
       .type = "LIST",
       .commas = true},
      {.name = "--containerfile",
       .value = &options->containerfile,
       .help = "Only print a Containerfile that builds the variants with this CUDA release",
       .type = "CUDA",
       .such_as = releases},
      {.name = "--no-build",
       .value = &options->no_build,
       .help = "Use the folders as they are; run no build command"},
      level_option(options->level),
  });
  add_output(command, options->globals);
  command.footer =
      "A build command gets the environment variables PACK_NAME, PACK_VERSION, "
      "PACK_VARIANT,\nPACK_FOLDER, CUDAARCHS and CMAKE_CUDA_ARCHITECTURES, TORCH_CUDA_ARCH_LIST, "
      "NVCC_GENCODE.\nExit codes: 0 all variants are built; 1 a variant is incomplete or differs "
      "from the recipe;\n2 a variant could not be built.";
}

}  // namespace gpuready::cli
