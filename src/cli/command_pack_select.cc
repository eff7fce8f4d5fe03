#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/pack_commands.h"
#include "cli/pack_machine.h"
#include "cli/pack_options.h"
#include "report/exit_rules.h"
#include "report/pack/select_report.h"

namespace gpuready::cli {
namespace {

struct Options {
  Globals globals;
  MachineOptions machine;
  std::string from;
  std::optional<std::string> key, to;
};

Result<SelectReport> select(const Options& options) {
  const auto host = make_live_host();
  std::optional<pack::PublicKey> key;
  if (options.key) key = TRY(pack::read_public_key(*host, *options.key));
  const auto origin = TRY(pack::open_origin(*host, options.from));
  const auto store = options.to ? TRY(pack::places_of(*host, "", options.to)).store : std::string();
  const auto release = TRY(pack::read_release(*host, *origin, key, store));
  SelectReport report{
      release.manifest.name, release.manifest.version, TRY(machine_for(options.machine)), {}};
  report.selection = pack::select_variant(release.manifest, report.machine);
  return report;
}

int run(const Options& options) {
  const auto start = Clock::now();
  if (const auto bad = bad_output(options.globals)) return complain(*bad);
  const auto report = select(options);
  if (!report) return complain(report.error(), exit_of_error(report.error()));
  Envelope envelope = begin_envelope("pack select");
  conclude(*report, envelope);
  return deliver_report(envelope, *report, start, options.globals);
}

}  // namespace

void declare_pack_select(CommandSpec& command) {
  auto options = std::make_shared<Options>();
  command.run = [options] { return run(*options); };
  command.add({release_option(options->from), key_option(options->key), place_option(options->to)});
  add_machine_options(command, options->machine);
  add_output(command, options->globals);
  command.footer =
      "Exit codes: 0 a variant is chosen, if only the CPU's; 2 wrong usage, or a release that is "
      "not\n"
      "trusted; 3 no variant fits; 4 the release could not be read.";
}

}  // namespace gpuready::cli
