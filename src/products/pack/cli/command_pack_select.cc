#include <fmt/format.h>

#include <algorithm>
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

std::string names_of(const std::vector<std::size_t>& gpus, const pack::SelectMachine& machine) {
  std::vector<std::string> names;
  for (const auto gpu : gpus)
    if (const auto name = machine.gpus[gpu].text(); std::ranges::find(names, name) == names.end())
      names.push_back(name);
  return join(names, ", ");
}

// One line for pip on standard output. On standard error what it leaves out: GPUs that need another
// build, thus another environment, and those that none serves.
Result<int> print_for_pip(const SelectReport& report) {
  const auto& [machine, selection] = report.decision;
  const auto& first = selection.variants.front();
  if (selection.for_cpu || selection.variants.size() > 1 || !selection.unserved.empty())
    complain(selection.reason);
  for (const auto& build : selection.considered)
    if (build.chosen && !selection.for_cpu && selection.variants.size() > 1)
      complain(fmt::format("{} serves {}{}", build.name, names_of(build.serves, machine),
                           build.name == first ? ""
                                               : ": in an environment of its own, pip install " +
                                                     pack::pip_arguments(report.name, build.name)));
  if (!selection.for_cpu && !selection.unserved.empty())
    complain("no build serves " + names_of(selection.unserved, machine));
  TRY(write_file("-", pack::pip_arguments(report.name, first) + "\n"));
  return static_cast<int>(exit_of(selection));
}

// `not_trusted`: the error is the release's.
Result<SelectReport> select(const PackSelectOptions& options, bool& not_trusted) {
  const auto host = make_live_host();
  std::optional<pack::PublicKey> key;
  if (options.key) key = TRY(pack::read_public_key(*host, *options.key));
  const auto origin = TRY(pack::open_origin(*host, options.from));
  const auto read = pack::read_trusted_release(*host, *origin, key, options.to);
  not_trusted = !read && read.error().kind == ErrorKind::bad_input;
  const auto release = TRY(read);
  return SelectReport{release.manifest.name, release.manifest.version,
                      pack::decide(release.manifest, TRY(machine_for(options.machine)))};
}

Result<int> run_pack_select(const PackSelectOptions& options) {
  const auto start = Clock::now();
  bool not_trusted = false;
  const auto report = options.format ? select_for_pip(options) : select(options, not_trusted);
  if (!report)
    return complain(report.error(), not_trusted ? Exit::unhealthy : exit_of_error(report.error()));
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
