#include "vm/report/make_reports.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"
#include "doctor/diagnose.h"
#include "machine/gpu_use.h"
#include "machine/inspect.h"
#include "vm/diagnose/host.h"
#include "vm/operations.h"
#include "vm/readiness.h"

namespace gpuready {
namespace {

// Mediated devices are parts of the devices that are meant.
Result<std::vector<PciAddress>> devices_meant(Host& host, const vm::NamedDevices& named) {
  auto devices = named.devices;
  if (named.instances.empty()) return devices;
  const auto state = TRY(vm::read_state(host, vm::kJournalFolder, {.all = false, .named = {}}));
  for (const auto& uuid : named.instances) {
    const auto* instance = state.inventory.find_instance(uuid);
    if (instance == nullptr) return fail(ErrorKind::not_found, vm::no_such_instance(uuid));
    const auto parent = parse_pci_address(instance->parent);
    if (!parent)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: a part of {}, which is not a PCI device; name a PCI address",
                              uuid, printable(instance->parent)));
    if (std::ranges::find(devices, *parent) == devices.end()) devices.push_back(*parent);
  }
  return devices;
}

Result<VmDoctorReport> diagnose_host(Host& host, const Machine& machine,
                                     const std::vector<PciAddress>& named) {
  VmDoctorReport report{.side = "host"};
  auto state = TRY(vm::read_state(host, vm::kJournalFolder, {.all = false, .named = named}));
  std::vector<PciAddress> asked = named;
  if (asked.empty()) asked = vm::passable_ones(state.inventory);
  for (const auto& address : asked)
    if (!state.inventory.find(address))
      return fail(ErrorKind::not_found, vm::no_such_device(address));
  report.devices = asked.size();
  const auto settings = vm::read_host_settings(host, state, asked);
  // Without sysfs a host lacks everything that is looked for there.
  report.bus_unread = state.inventory.bus_unread;
  if (!report.bus_unread)
    report.findings = vm::diagnose_host({machine, state, std::move(asked), settings});
  report.unseen = std::move(state.inventory.unseen);
  for (const auto& unseen : machine.unseen)
    if (unseen.what == "kernel log") report.unseen.push_back(unseen.what + ": " + unseen.why);
  return report;
}

VmDoctorReport diagnose_guest(const Machine& machine) {
  VmDoctorReport report{.side = "guest"};
  report.findings = diagnose(machine);
  if (machine.gpus.empty()) report.bus_unread = why_bus_unread(machine);
  for (const auto& unseen : machine.unseen)
    report.unseen.push_back(unseen.what + ": " + unseen.why);
  return report;
}

}  // namespace

Result<VmDevices> list_devices(Host& host, bool all) {
  auto state = TRY(vm::read_state(host, vm::kJournalFolder, {.all = all}));
  VmDevices devices{.inventory = std::move(state.inventory), .shown = {}};
  devices.shown = vm::passable_ones(devices.inventory, all);
  devices.instances = vm::every_instance(devices.inventory);
  return devices;
}

Result<VmDevices> show_devices(Host& host, const vm::NamedDevices& named,
                               const std::optional<std::string>& name) {
  auto state =
      TRY(vm::read_state(host, vm::kJournalFolder, {.all = false, .named = named.devices}));
  VmDevices devices{.inventory = std::move(state.inventory),
                    .shown = named.devices,
                    .in_full = true,
                    .instances = named.instances};
  if (named.empty()) {
    devices.shown = vm::passable_ones(devices.inventory);
    devices.instances = vm::every_instance(devices.inventory);
  }
  if (name) {
    std::erase_if(devices.shown, [&](const PciAddress& address) {
      const auto* device = devices.inventory.find(address);
      return device && device->around.attached_to != name;
    });
    std::erase_if(devices.instances, [&](const std::string& uuid) {
      const auto* instance = devices.inventory.find_instance(uuid);
      return instance && instance->around.attached_to != name;
    });
    if (devices.shown.empty() && devices.instances.empty())
      return fail(ErrorKind::not_found,
                  *name + ": nothing is attached for it; gpuready vm status names what is");
  }
  for (const auto& address : devices.shown)
    if (!devices.inventory.find(address))
      return fail(ErrorKind::not_found, vm::no_such_device(address));
  for (const auto& uuid : devices.instances)
    if (!devices.inventory.find_instance(uuid))
      return fail(ErrorKind::not_found, vm::no_such_instance(uuid));
  return devices;
}

Result<ArgsReport> args_for(Host& host, const std::string& name, vm::Hypervisor hypervisor) {
  const auto state = TRY(vm::read_state(host, vm::kJournalFolder));
  const auto attached = TRY(vm::attached_to(state, name));
  ArgsReport report{hypervisor, vm::guest_args(hypervisor, attached.devices, attached.managed,
                                               attached.instances)};
  auto& notes = report.args.notes;
  notes.insert(notes.begin(), attached.notes.begin(), attached.notes.end());
  return report;
}

Result<VmDoctorReport> diagnose_side(Host& host, const vm::NamedDevices& named,
                                     const std::string& side,
                                     const std::function<Result<Machine>()>& inspect_guest) {
  if (side == "guest") return diagnose_guest(TRY(inspect_guest()));
  const auto devices = TRY(devices_meant(host, named));
  const auto machine = inspect(host, {.libraries = false, .kernel_log = true});
  const auto& hypervisor = machine.system.hypervisor;
  const bool guest = hypervisor && *hypervisor != "none" && devices.empty();
  if (side == "auto" && guest) return diagnose_guest(TRY(inspect_guest()));
  return diagnose_host(host, machine, devices);
}

Result<VmDoctorReport> diagnose_console(const std::string& path) {
  VmDoctorReport report{.side = "console"};
  report.console = vm::read_console(TRY(read_file_end(path, vm::kMostConsoleBytes)));
  report.findings = std::move(report.console->findings);
  if (report.console->unread_bytes > 0)
    report.unseen.push_back(fmt::format("the first {} bytes of {}: a log is read from its end",
                                        report.console->unread_bytes, path));
  return report;
}

Result<DriversReport> list_drivers(Host& host, const std::string& folder) {
  auto found = TRY(vm::list_bundles(host, folder));
  return DriversReport{std::move(found.bundles), std::move(found.problems)};
}

Result<DriversReport> show_drivers(Host& host, const std::string& folder, bool verify) {
  auto bundle = TRY(vm::open_bundle(host, folder));
  DriversReport report;
  report.problems = vm::inconsistencies(bundle);
  if (verify)
    for (auto& problem : vm::verify_bundle(host, folder, bundle))
      report.problems.push_back(std::move(problem));
  report.bundles.push_back({folder, std::move(bundle)});
  return report;
}

Result<void> test_and_switch(Host& host, Storage& storage, UpgradeReport& report,
                             const std::optional<std::string>& program,
                             std::chrono::milliseconds deadline) {
  const std::string name(base_name(report.bundle.folder));
  report.tests = vm::test_bundle(host, report.bundle);
  report.tests.push_back(vm::test_gpus(report.bundle.bundle, vm::nvidia_gpus(host)));
  if (report.from && *report.from != name) {
    const auto current = TRY(vm::open_bundle(host, report.folder + "/" + *report.from));
    report.diff = vm::compare_bundles(current, report.bundle.bundle);
    // The way back to an older one is free.
    if (report.added)
      for (auto& test : vm::test_diff(*report.diff)) report.tests.push_back(std::move(test));
  }
  if (program && !report.failed())
    report.tests.push_back(vm::test_by_command(host, *program, report.bundle.folder, deadline));
  if (report.failed()) return {};
  TRY(vm::switch_bundle(storage, report.folder, name));
  report.switched = true;
  return {};
}

}  // namespace gpuready
