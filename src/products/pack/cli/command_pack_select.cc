#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "pack/cli/pack_commands.h"
#include "pack/cli/pack_machine.h"
#include "pack/cli/pack_options.h"
#include "pack/report/exit_rules.h"
#include "pack/report/select_report.h"
#include "pack/store/pip_index.h"

namespace gpuready::cli {
namespace {

struct PackSelectOptions {
  Globals globals;
  MachineOptions machine;
  std::string from;
  std::optional<std::string> key, to, format;
};

// The build of a framework that pip installs for this machine.
Result<SelectReport> select_for_pip(const PackSelectOptions& options) {
  const auto builds = pack::pip_builds(options.from);
  if (!builds)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: pip's builds of it are not known here; those of {} are",
                            options.from, join(pack::pip_packages(), ", ")));
  SelectReport report{builds->name, {}, pack::decide(*builds, TRY(machine_for(options.machine)))};
  // There is one for the CPU, which has no floors.
  report.version = pack::pip_version(report.name, report.decision.selection.variants.front());
  return report;
}

// One line for pip on standard output, and the notes on standard error.
Result<int> print_for_pip(const SelectReport& report) {
  for (const auto& note : pip_notes(report)) complain(note);
  const auto& selection = report.decision.selection;
  TRY(write_file("-", pack::pip_arguments(report.name, selection.variants.front()) + "\n"));
  return static_cast<int>(exit_of(selection));
}

// `error_exit`: of an error that it returns.
Result<SelectReport> select(const PackSelectOptions& options, std::optional<Exit>& error_exit) {
  const auto host = make_live_host();
  std::optional<pack::PublicKey> key;
  if (options.key) key = TRY(pack::read_public_key(*host, *options.key));
  const auto origin = TRY(pack::open_origin(*host, options.from));
  const auto read = pack::read_trusted_release(*host, *origin, key, options.to);
  if (!read) error_exit = exit_of_release_error(read.error());
  const auto release = TRY(read);
  return SelectReport{release.manifest.name, release.manifest.version,
                      pack::decide(release.manifest, TRY(machine_for(options.machine)))};
}

Result<int> run_pack_select(const PackSelectOptions& options) {
  const auto start = Clock::now();
  std::optional<Exit> error_exit;
  const auto report = options.format ? select_for_pip(options) : select(options, error_exit);
  if (!report) return complain(report.error(), error_exit.value_or(exit_of_error(report.error())));
  if (options.format && !options.globals.json) return print_for_pip(*report);
  Envelope envelope = begin_envelope("pack select");
  conclude(*report, envelope);
  return deliver_report(envelope, *report, start, options.globals);
}

}  // namespace

void declare_pack_select(CommandSpec& command) {
  auto options = std::make_shared<PackSelectOptions>();
  command.run = [options] { return run_pack_select(*options); };
  command.add({release_option(options->from),
               key_option(options->key),
               place_option(options->to),
               {.name = "--format",
                .value = &options->format,
                .help = fmt::format("pip-index: FROM is one of {}, and the answer is what pip is "
                                    "given to install its build for this machine",
                                    join(pack::pip_packages(), ", ")),
                .type = "FORMAT",
                .one_of = {"pip-index"}}});
  add_machine_options(command, options->machine);
  command.add({free_memory_option(options->machine)});
  add_output(command, options->globals);
  command.footer =
      "Exit codes: 0 a variant was chosen, possibly the CPU variant; 1 the release is not "
      "trusted\n(signature, expiry, a version below one seen before); 2 wrong usage; 3 no variant "
      "fits; 4 the\nrelease could not be read.";
}

}  // namespace gpuready::cli
