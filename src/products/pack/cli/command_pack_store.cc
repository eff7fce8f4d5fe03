// `gpuready pack list | verify | rollback | gc | uninstall`: what is installed here.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/units.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "pack/cli/pack_commands.h"
#include "pack/cli/pack_options.h"
#include "pack/release/minisign.h"
#include "pack/report/exit_rules.h"
#include "pack/report/install_report.h"

namespace gpuready::cli {
namespace {

constexpr const char* kPackages = "/.local/share";  // below the user's home

struct PackStoreOptions {
  Globals globals;
  std::optional<std::string> name, to;
  std::optional<std::uint64_t> number;
  double wait = kUsualWaitSeconds;
  bool forget = false;
  pack::LockWait lock() const { return lock_wait(wait, globals.quiet); }
};

Result<PackageState> state_of(const InstalledPackage& here) {
  const auto store = here.store();
  PackageState state{here.places.store, TRY(store.current()), TRY(store.installed()), {}};
  if (!state.current) return state;
  if (const auto now = store.installed(*state.current); !now)
    state.problems.push_back(
        fmt::format("number {} is current, and its record is damaged: {}. Install again.",
                    *state.current, now.error().message));
  return state;
}

Result<PackageState> state_of_name(const std::string& name) {
  return state_of(TRY(open_here(name, std::nullopt)));
}

// What the store's own files lack is not a mistake of the caller.
Exit exit_of_store_error(const Error& error) {
  return pack::is_damage(error) ? Exit::unhealthy : exit_of_error(error);
}

struct Outcome {
  std::vector<PackageState> packages;
  std::string conclusion;
};

Result<Outcome> list(const PackStoreOptions& options) {
  Outcome outcome;
  if (options.name || options.to) {
    outcome.packages.push_back(TRY(state_of(TRY(open_here(options.name, options.to)))));
  } else {
    const auto host = make_live_host();
    const auto home = TRY(pack::home_folder(*host)) + kPackages;
    for (const auto& name : host->list_directory(home).value_or(std::vector<std::string>())) {
      const auto state = state_of_name(name);
      if (state)
        outcome.packages.push_back(*state);
      else if (pack::is_damage(state.error()))  // which hides none of the others
        outcome.packages.push_back(
            {fmt::format("{}/{}/gpu-libs", home, name), {}, {}, {state.error().message}});
    }
    if (outcome.packages.empty()) outcome.conclusion = "No package is installed in " + home + ".";
  }
  return outcome;
}

Result<Outcome> verify(const PackStoreOptions& options) {
  const auto here = TRY(open_here(options.name, options.to));
  auto store = here.store();
  auto state = TRY(state_of(here));
  const auto current = TRY(pack::read_current(store));
  state.problems = TRY(pack::verify_current(*here.host, store, current));
  const auto variant = current.variant();
  auto conclusion =
      state.problems.empty()
          ? fmt::format("All {} files ({}) are those that were signed.", variant.files.size(),
                        format_bytes(variant.content_bytes()))
          : fmt::format("{} problem{}: what is here is not what was signed. Install again.",
                        state.problems.size(), state.problems.size() == 1 ? "" : "s");
  return Outcome{{std::move(state)}, std::move(conclusion)};
}

Result<Outcome> rollback(const PackStoreOptions& options) {
  const auto here = TRY(open_here(options.name, options.to));
  const auto now =
      TRY(pack::roll_back(*here.host, live_storage(), here.places, options.number, options.lock()));
  return Outcome{
      {TRY(state_of(here))},
      fmt::format("{} {}, variant {}, is current now.", now.name, now.version, now.variant)};
}

Result<Outcome> collect(const PackStoreOptions& options) {
  const auto here = TRY(open_here(options.name, options.to));
  const auto done =
      TRY(pack::collect_garbage(*here.host, live_storage(), here.places, options.lock()));
  return Outcome{
      {TRY(state_of(here))},
      fmt::format("Removed {} old versions and {} files that no other needs ({}).",
                  done.generations.size(), done.objects.files, format_bytes(done.objects.bytes))};
}

Result<Outcome> uninstall(const PackStoreOptions& options) {
  const auto here = TRY(open_here(options.name, options.to, options.forget));
  TRY(pack::uninstall(*here.host, live_storage(), here.places, options.forget, options.lock()));
  const auto foreign = here.store().foreign();
  return Outcome{
      {},
      here.places.store +
          (options.forget && !foreign.empty()
               ? fmt::format(" stays, since it holds {} that gpuready did not install; what was "
                             "known of the package is forgotten.",
                             join(foreign, ", "))
           : options.forget
               ? " is removed, and what was known of the package is forgotten."
               : " is empty now. Its state.json remembers the key and the highest version "
                 "seen, so that no server goes back behind it (--forget removes that, "
                 "too).")};
}

int run_pack_store(const PackStoreOptions& options, const char* name,
                   Result<Outcome> (*work)(const PackStoreOptions&)) {
  const auto start = Clock::now();
  const auto outcome = work(options);
  if (!outcome) return complain(outcome.error(), exit_of_store_error(outcome.error()));
  Envelope envelope = begin_envelope(fmt::format("pack {}", name));
  if (!outcome->conclusion.empty()) envelope.conclusion = outcome->conclusion;
  for (const auto& package : outcome->packages)
    if (!package.problems.empty()) envelope.exit = Exit::unhealthy;
  return deliver_report(envelope, outcome->packages, start, options.globals);
}

std::shared_ptr<PackStoreOptions> declare(CommandSpec& command, const char* name,
                                          Result<Outcome> (*work)(const PackStoreOptions&),
                                          bool required) {
  auto options = std::make_shared<PackStoreOptions>();
  command.run = [options, name, work] { return run_pack_store(*options, name, work); };
  command.add({
      {.name = "NAME",
       .value = &options->name,
       .help = required ? "The package" : "The package (default: all)",
       .files = Files::read,
       .files_of = files_of_package},
      place_option(options->to),
  });
  add_output(command, options->globals);
  return options;
}

constexpr const char* kPackStoreExits =
    "Exit codes: 0 done; 1 damaged; 2 wrong usage; 4 it could not be done.";

}  // namespace

void declare_pack_list(CommandSpec& command) {
  declare(command, "list", list, false);
  const auto host = make_live_host();
  if (const auto home = pack::home_folder(*host)) command.reads = {*home + kPackages};
}
void declare_pack_verify(CommandSpec& command) {
  declare(command, "verify", verify, true);
  command.footer =
      "Hashes every file of the current version and checks the manifest's signature.\nExit codes: "
      "0 everything is as signed; 1 something is not; 4 it could not be read.";
}
void declare_pack_rollback(CommandSpec& command) {
  auto options = declare(command, "rollback", rollback, true);
  command.add({{.name = "--number",
                .value = &options->number,
                .help = "The version with this number in pack list (default: the previous one)",
                .type = "N"},
               wait_option(options->wait)});
  command.footer = kPackStoreExits;
}
void declare_pack_gc(CommandSpec& command) {
  auto options = declare(command, "gc", collect, true);
  command.add({wait_option(options->wait)});
  command.footer = "Keeps the current and the previous version.\n" + std::string(kPackStoreExits);
}
void declare_pack_uninstall(CommandSpec& command) {
  auto options = declare(command, "uninstall", uninstall, true);
  command.add({{.name = "--forget",
                .value = &options->forget,
                .help = "Also forget the trusted key and the highest version seen"},
               wait_option(options->wait)});
  command.footer =
      "Keeps the key and the highest version seen, so that a server cannot serve an older "
      "version\nwhen the package is installed again.\n" +
      std::string(kPackStoreExits);
}

}  // namespace gpuready::cli
