// `gpuready pack list | verify | rollback | gc | uninstall`: what is installed here.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/units.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/pack_commands.h"
#include "cli/pack_options.h"
#include "pack/release/minisign.h"
#include "report/exit_rules.h"
#include "report/pack/install_report.h"

namespace gpuready::cli {
namespace {

using pack::Store;

struct Options {
  Globals globals;
  std::optional<std::string> name, to;
  std::optional<std::uint64_t> number;
};

Result<PackageState> state_of(const InstalledPackage& here) {
  const auto store = here.store();
  return PackageState{here.places.store, TRY(store.current()), TRY(store.installed()), {}};
}

struct Outcome {
  std::vector<PackageState> packages;
  std::string conclusion;
};

Result<Outcome> list(const Options& options) {
  Outcome outcome;
  if (options.name || options.to) {
    outcome.packages.push_back(TRY(state_of(TRY(open_here(options.name, options.to)))));
  } else {
    const auto host = make_live_host();
    const auto home = host->environment("HOME").value_or("") + "/.local/share";
    for (const auto& name : host->list_directory(home).value_or(std::vector<std::string>())) {
      Options one = options;
      one.name = name;
      if (const auto here = open_here(one.name, one.to))
        outcome.packages.push_back(TRY(state_of(*here)));
    }
    if (outcome.packages.empty()) outcome.conclusion = "No package is installed in " + home + ".";
  }
  return outcome;
}

Result<Outcome> verify(const Options& options) {
  const auto here = TRY(open_here(options.name, options.to));
  const auto store = here.store();
  auto state = TRY(state_of(here));
  const auto current = TRY(pack::read_current(store));
  state.problems = TRY(pack::verify_current(*here.host, store, current));
  const auto variant = current.variant();
  auto conclusion =
      state.problems.empty()
          ? fmt::format("All {} files ({}) are those that were signed.", variant.files.size(),
                        format_bytes(variant.content_bytes()))
          : fmt::format("{} of {} files are not those that were signed: install again.",
                        state.problems.size(), variant.files.size());
  return Outcome{{std::move(state)}, std::move(conclusion)};
}

Result<Outcome> rollback(const Options& options) {
  const auto here = TRY(open_here(options.name, options.to));
  const auto now = TRY(pack::roll_back(*here.host, live_storage(), here.places, options.number));
  return Outcome{
      {TRY(state_of(here))},
      fmt::format("{} {}, variant {}, is current now.", now.name, now.version, now.variant)};
}

Result<Outcome> collect(const Options& options) {
  const auto here = TRY(open_here(options.name, options.to));
  const auto done = TRY(pack::collect_garbage(*here.host, live_storage(), here.places));
  return Outcome{
      {TRY(state_of(here))},
      fmt::format("Removed {} old versions and {} files that no other needs ({}).",
                  done.generations.size(), done.objects.files, format_bytes(done.objects.bytes))};
}

Result<Outcome> uninstall(const Options& options) {
  const auto here = TRY(open_here(options.name, options.to));
  TRY(pack::uninstall(*here.host, live_storage(), here.places));
  return Outcome{{}, here.places.store + " is removed."};
}

int run(const Options& options, const char* name, Result<Outcome> (*work)(const Options&)) {
  const auto start = Clock::now();
  if (const auto bad = bad_output(options.globals)) return complain(*bad);
  const auto outcome = work(options);
  if (!outcome) return complain(outcome.error(), exit_of_error(outcome.error()));
  Envelope envelope = begin_envelope(fmt::format("pack {}", name));
  if (!outcome->conclusion.empty()) envelope.conclusion = outcome->conclusion;
  for (const auto& package : outcome->packages)
    if (!package.problems.empty()) envelope.exit = Exit::unhealthy;
  return deliver_report(envelope, outcome->packages, start, options.globals);
}

std::shared_ptr<Options> declare(CommandSpec& command, const char* name,
                                 Result<Outcome> (*work)(const Options&), bool required) {
  auto options = std::make_shared<Options>();
  command.run = [options, name, work] { return run(*options, name, work); };
  command.add({
      {.name = "NAME",
       .value = &options->name,
       .help = required ? "The package" : "The package (default: all)"},
      place_option(options->to),
  });
  add_output(command, options->globals);
  return options;
}

constexpr const char* kExits =
    "Exit codes: 0 done; 1 damaged; 2 wrong usage; 4 it could not be done.";

}  // namespace

void declare_pack_list(CommandSpec& command) { declare(command, "list", list, false); }
void declare_pack_verify(CommandSpec& command) {
  declare(command, "verify", verify, true);
  command.footer =
      "Hashes every file of the current version and checks the manifest's signature.\nExit codes: "
      "0 all is as signed; 1 something is not; 4 it could not be read.";
}
void declare_pack_rollback(CommandSpec& command) {
  auto options = declare(command, "rollback", rollback, true);
  command.add({{.name = "--number",
                .value = &options->number,
                .help = "The version with this number in pack list (default: the one before)",
                .type = "N"}});
  command.footer = kExits;
}
void declare_pack_gc(CommandSpec& command) {
  declare(command, "gc", collect, true);
  command.footer = "Keeps the current version and the one before it.\n" + std::string(kExits);
}
void declare_pack_uninstall(CommandSpec& command) {
  declare(command, "uninstall", uninstall, true);
  command.footer = kExits;
}

}  // namespace gpuready::cli
