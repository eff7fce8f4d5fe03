#include <memory>

#include "base/clock.h"
#include "base/units.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "pack/cli/pack_commands.h"
#include "pack/cli/pack_options.h"
#include "pack/release/oci.h"
#include "pack/report/release_report.h"
#include "pack/store/load_report.h"

namespace gpuready::cli {
namespace {

struct PackPublishOptions {
  Globals globals;
  std::string recipe = kDefaultRecipe, built = "build/pack", key, to;
  std::optional<std::string> password_file, chain, proof, oci;
  double part_mb = 2000;
};

Result<PublishReport> publish(const PackPublishOptions& options) {
  const auto host = make_live_host();
  const auto recipe = TRY(read_recipe(*host, options.recipe));
  const auto key = TRY(read_secret_key(*host, options.key, options.password_file));
  TRY(make_named_folder("--to", options.to));
  pack::PublishOptions how;
  how.built_folder = options.built;
  how.out_folder = options.to;
  how.part_bytes = static_cast<std::uint64_t>(options.part_mb * 1e6);
  if (options.chain)
    how.chain = TRY(pack::parse_key_chain(
        TRY(host->read_file(*options.chain, pack::kMostKeyChainBytes)), *options.chain));
  std::vector<pack::HandedReport> reports;
  if (options.proof) {
    reports = TRY(pack::read_reports(*host, *options.proof));
    how.gate = [&](const pack::Manifest& manifest) {
      return pack::missing_proof(manifest, recipe.report_keys, reports);
    };
  }
  how.now_unix_seconds = TRY(host->identity()).unix_seconds;
  PublishReport report{options.to, TRY(pack::publish(*host, recipe, key, how)), key.public_key()};
  if (options.oci) {
    TRY(pack::write_oci_layout(*host, options.to, report.published.files,
                               report.published.manifest.version, *options.oci));
    report.oci_layout = *options.oci;
  }
  return report;
}

Result<int> run_pack_publish(const PackPublishOptions& options) {
  const auto start = Clock::now();
  const auto report = TRY(publish(options));
  Envelope envelope = begin_envelope("pack publish");
  return deliver_report(envelope, report, start, options.globals);
}

}  // namespace

void declare_pack_publish(CommandSpec& command) {
  auto options = std::make_shared<PackPublishOptions>();
  command.run = [options] { return run_pack_publish(*options); };
  command.add({
      {.name = "RECIPE",
       .value = &options->recipe,
       .help = "The recipe (default: pack.toml)",
       .files = Files::read,
       .files_of = files_of_recipe},
      signing_key_option(options->key),
      release_folder_option(options->to),
      {.name = "--built",
       .value = &options->built,
       .help = "Folder with the archives of pack build (default: build/pack)",
       .type = "FOLDER",
       .files = Files::read},
      password_option(options->password_file),
      {.name = "--keys",
       .value = &options->chain,
       .help = "NAME.keys.json of a key that another one signed (pack key --signed-by)",
       .type = "FILE",
       .files = Files::read},
      {.name = "--require-proof",
       .value = &options->proof,
       .help =
           "Refuse unless signed load reports, in FOLDER or one file, cover the recipe's machines",
       .type = "FOLDER",
       .files = Files::read},
      {.name = "--oci",
       .value = &options->oci,
       .help = "Also add the release to this OCI image layout, tagged with its version",
       .type = "FOLDER",
       .files = Files::written},
      {.name = "--part-mb",
       .value = &options->part_mb,
       .help = "Split archives into files of at most this many MB (default: 2000)",
       .type = "MB",
       .range = Range{1, 1e9}},
  });
  add_output(command, options->globals);
  command.footer =
      "Upload all files of the folder to any web server, object store or GitHub "
      "release.\n--require-proof reads the reports of pack install --report from the recipe's "
      "[[machines]].\nExit codes: 0 published; 2 refused, with every reason.";
}

}  // namespace gpuready::cli
