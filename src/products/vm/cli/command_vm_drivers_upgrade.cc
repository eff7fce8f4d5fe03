// `gpuready vm drivers upgrade`: adds a bundle, compares and tests it, and makes it current.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "host/folders.h"
#include "machine/pci/pci_files.h"
#include "value/vendors.h"
#include "vm/cli/vm_driver_commands.h"
#include "vm/device.h"
#include "vm/report/exit_rules.h"

namespace gpuready::cli {
namespace {

struct VmDriversUpgradeOptions {
  Globals globals;
  std::string folder;
  vm::CollectOptions collect;
  std::optional<std::string> name, to, test;
};

std::vector<std::pair<std::uint16_t, std::uint16_t>> nvidia_gpus(Host& host) {
  std::vector<std::pair<std::uint16_t, std::uint16_t>> ids;
  const auto names = host.list_directory("/sys/bus/pci/devices");
  for (const auto& name : names.value_or(std::vector<std::string>{})) {
    const auto address = parse_pci_address(name);
    const auto function = address ? vm::read_pci_function(host, *address)
                                  : Result<vm::PciFunction>(fail(ErrorKind::not_found, name));
    if (function && function->vendor_id == pci_vendor::kNvidia && vm::has_memory(*function))
      ids.emplace_back(function->vendor_id, function->device_id);
  }
  return ids;
}

// A name in the folder: of a bundle that is there, or of a new one.
Result<void> check_bundle_name(const std::string& name, const char* option) {
  if (vm::is_plain_name(name) && !name.starts_with(".") && name != vm::kCurrent) return {};
  return fail(
      ErrorKind::bad_input,
      fmt::format("{} {}: expected the name of a bundle in the folder", option, printable(name)));
}

Result<UpgradeReport> upgrade(const VmDriversUpgradeOptions& options, Host& host) {
  if (options.to.has_value() == !options.collect.from.empty())
    return fail(
        ErrorKind::bad_input,
        "name either the sources of the new bundle (FROM), or with --to an existing bundle");
  if (options.name) TRY(check_bundle_name(*options.name, "--name"));
  if (options.to) TRY(check_bundle_name(*options.to, "--to"));
  if (!options.to) TRY(make_folders(options.folder));
  auto lock = live_storage().lock(options.folder + "/.lock");
  if (!lock && lock.error().kind == ErrorKind::not_found)
    return fail(ErrorKind::not_found, options.folder + ": there is no such folder of bundles");
  if (!lock && lock.error().kind == ErrorKind::busy)
    return fail(ErrorKind::busy, options.folder + ": another upgrade of it runs now");
  if (!lock) return std::unexpected(lock.error());
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
  const std::string name(base_name(report.bundle.folder));
  report.tests = vm::test_bundle(host, report.bundle);
  report.tests.push_back(vm::test_gpus(report.bundle.bundle, nvidia_gpus(host)));
  if (report.from && *report.from != name) {
    const auto current = TRY(vm::open_bundle(host, options.folder + "/" + *report.from));
    report.diff = vm::compare_bundles(current, report.bundle.bundle);
    // The way back to an older one is free.
    if (report.added)
      for (auto& test : vm::test_diff(*report.diff)) report.tests.push_back(std::move(test));
  }
  if (options.test && !report.failed()) {
    const auto seconds = options.globals.timeout_s.value_or(600);
    report.tests.push_back(
        vm::test_by_command(host, *options.test, report.bundle.folder,
                            std::chrono::milliseconds(static_cast<long>(seconds * 1000))));
  }
  if (report.failed()) return report;
  TRY(vm::switch_bundle(live_storage(), options.folder, name));
  report.switched = true;
  return report;
}

int run_vm_drivers_upgrade(const VmDriversUpgradeOptions& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  const auto report = upgrade(options, *host);
  if (!report)
    return complain(report.error(), report.error().kind == ErrorKind::busy ? Exit::unknown
                                    : report.error().kind == ErrorKind::cancelled
                                        ? Exit::interrupted
                                        : Exit::usage);
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
