// `gpuready pack list | verify | rollback | gc | uninstall`: what is installed here.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "pack/cli/pack_commands.h"
#include "pack/cli/pack_options.h"
#include "pack/report/exit_rules.h"
#include "pack/report/store_report.h"

namespace gpuready::cli {
namespace {

struct PackStoreOptions {
  Globals globals;
  std::optional<std::string> name, to;
  std::optional<std::uint64_t> number;
  double wait = kUsualWaitSeconds;
  bool forget = false;
  pack::LockWait lock() const { return lock_wait(wait, globals.quiet); }
};

Result<StoreReport> list(const PackStoreOptions& options) {
  if (!options.name && !options.to) return list_packages(*make_live_host(), live_storage());
  return StoreReport{{TRY(state_of(TRY(open_here(options.name, options.to)).store()))}};
}

Result<StoreReport> verify(const PackStoreOptions& options) {
  const auto here = TRY(open_here(options.name, options.to));
  auto store = here.store();
  return verify_package(*here.host, store);
}

Result<StoreReport> rollback(const PackStoreOptions& options) {
  const auto here = TRY(open_here(options.name, options.to));
  return roll_back_package(*here.host, live_storage(), here.places, options.number, options.lock());
}

Result<StoreReport> collect(const PackStoreOptions& options) {
  const auto here = TRY(open_here(options.name, options.to));
  return collect_package(*here.host, live_storage(), here.places, options.lock());
}

Result<StoreReport> uninstall(const PackStoreOptions& options) {
  const auto here = TRY(open_here(options.name, options.to, options.forget));
  return uninstall_package(*here.host, live_storage(), here.places, options.forget, options.lock());
}

int run_pack_store(const PackStoreOptions& options, const char* name,
                   Result<StoreReport> (*work)(const PackStoreOptions&)) {
  const auto start = Clock::now();
  const auto report = work(options);
  if (!report) return complain(report.error(), exit_of_store_error(report.error()));
  Envelope envelope = begin_envelope(fmt::format("pack {}", name));
  if (!report->conclusion.empty()) envelope.conclusion = report->conclusion;
  envelope.exit = exit_of(report->packages);
  return deliver_report(envelope, report->packages, start, options.globals);
}

std::shared_ptr<PackStoreOptions> declare(CommandSpec& command, const char* name,
                                          Result<StoreReport> (*work)(const PackStoreOptions&),
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
  if (const auto folder = pack::packages_folder(*make_live_host())) command.reads = {*folder};
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
