// `gpuready vm drivers upgrade`: adds a bundle, compares and tests it, and makes it current.
#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "host/folders.h"
#include "vm/cli/vm_driver_commands.h"
#include "vm/report/exit_rules.h"
#include "vm/report/make_reports.h"

namespace gpuready::cli {
namespace {

struct VmDriversUpgradeOptions {
  Globals globals;
  std::string folder;
  vm::CollectOptions collect;
  std::optional<std::string> name, to, test;
};

Result<UpgradeReport> upgrade(const VmDriversUpgradeOptions& options, Host& host) {
  TRY(vm::check_upgrade(options.collect.from, options.name, options.to));
  if (!options.to) TRY(make_folders(options.folder));
  const auto lock = TRY(vm::lock_bundles(live_storage(), options.folder));
  UpgradeReport report;
  report.folder = options.folder;
  report.from = TRY(vm::current_bundle(host, options.folder));
  if (options.to) {
    const auto folder = options.folder + "/" + *options.to;
    report.bundle = {folder, TRY(vm::open_bundle(host, folder))};
  } else {
    // A build is ended with all that it started; all else ends at once by the signal itself.
    const bool builds = !options.collect.headers.empty();
    if (builds) catch_interrupts();
    auto wanted = options.collect;
    wanted.cancel = &interrupted();
    auto added =
        vm::add_bundle(wanted, options.folder, options.name.value_or(""), host, live_storage());
    if (builds) end_at_interrupts();
    report.bundle = TRY(std::move(added));
    if (interrupted())
      return fail(ErrorKind::cancelled,
                  report.bundle.folder + ": interrupted; the bundle is there, and not current");
    report.added = true;
  }
  TRY(test_and_switch(host, live_storage(), report, options.test,
                      to_milliseconds(options.globals.timeout_s.value_or(600))));
  return report;
}

int run_vm_drivers_upgrade(const VmDriversUpgradeOptions& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  const auto report = upgrade(options, *host);
  if (!report) return complain(report.error(), exit_of_bundle_error(report.error()));
  Envelope envelope = begin_envelope("vm drivers upgrade");
  envelope.exit = exit_of(*report);
  return deliver_report(envelope, *report, start, options.globals);
}

}  // namespace

void declare_vm_drivers_upgrade(CommandSpec& command) {
  auto options = std::make_shared<VmDriversUpgradeOptions>();
  command.run = [options] { return run_vm_drivers_upgrade(*options); };
  command.add({
      {.name = "FOLDER",
       .value = &options->folder,
       .help = "A folder of bundles; its link `current` points to the one in use",
       .required = true,
       .files = Files::read},
      {.name = "FROM",
       .value = &options->collect.from,
       .help = "The sources of the new bundle, as in `vm drivers collect`",
       .files = Files::read},
      {.name = "--to",
       .value = &options->to,
       .help = "Switch to this existing bundle: to go back, or for another attempt",
       .type = "NAME"},
      {.name = "--name",
       .value = &options->name,
       .help = "The new bundle's name in FOLDER (default: its driver's version)",
       .type = "NAME"},
      {.name = "--test",
       .value = &options->test,
       .help = "Also run this program with the bundle as its argument: it must exit with 0",
       .type = "PROGRAM",
       .files = Files::read},
      {.name = "--timeout",
       .value = &options->globals.timeout_s,
       .help = "Time limit of that program (default: 600 s)",
       .range = Range{1, 86400},
       .seconds = true},
  });
  add_collect_options(command, options->collect);
  add_output(command, options->globals);
  command.footer =
      "A new bundle must support everything that the current one supports: libraries, kernels, "
      "CUDA,\nand this machine's GPUs. The old bundle always stays.\nExit codes: 0 the bundle is "
      "current; 1 a test failed, and current did not change; 2 wrong\nusage, or no bundle can be "
      "made; 4 another upgrade of FOLDER is running.";
}

}  // namespace gpuready::cli
