// `vm doctor`: what keeps a host's devices from virtual machines, or a guest from its GPU.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "cli/deliver_report.h"
#include "doctor/diagnose.h"
#include "machine/gpu_use.h"
#include "vm/cli/vm_commands.h"
#include "vm/cli/vm_host.h"
#include "vm/diagnose/host.h"
#include "vm/readiness.h"
#include "vm/report/doctor_report.h"
#include "vm/report/exit_rules.h"

namespace gpuready::cli {
namespace {

struct VmDoctorOptions {
  Globals globals;
  std::vector<std::string> devices;
  std::optional<std::string> console;
  std::string side = "auto";
};

Result<VmDoctorReport> of_console(const std::string& path) {
  VmDoctorReport report{.side = "console"};
  report.console = vm::read_console(TRY(read_file_end(path, vm::kMostConsoleBytes)));
  report.findings = std::move(report.console->findings);
  if (report.console->unread_bytes > 0)
    report.unseen.push_back(fmt::format("the first {} bytes of {}: a log is read from its end",
                                        report.console->unread_bytes, path));
  return report;
}

// Mediated devices are parts of the devices that are meant.
Result<std::vector<PciAddress>> devices_named(Host& host, const NamedDevices& named) {
  auto devices = named.devices;
  if (named.instances.empty()) return devices;
  const auto state = TRY(vm::read_state(host, vm::kJournalFolder, {.all = false, .named = {}}));
  for (const auto& uuid : named.instances) {
    const auto* instance = state.inventory.find_instance(uuid);
    if (instance == nullptr)
      return fail(ErrorKind::not_found,
                  uuid + ": there is no such mediated device; `gpuready vm list` names them");
    const auto parent = parse_pci_address(instance->parent);
    if (!parent)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: a part of {}, which is not a PCI device; name a PCI address",
                              uuid, printable(instance->parent)));
    if (std::ranges::find(devices, *parent) == devices.end()) devices.push_back(*parent);
  }
  return devices;
}

Result<VmDoctorReport> of_host(Host& host, const Machine& machine,
                               const std::vector<PciAddress>& named) {
  VmDoctorReport report{.side = "host"};
  auto state = TRY(vm::read_state(host, vm::kJournalFolder, {.all = false, .named = named}));
  std::vector<PciAddress> asked = named;
  if (asked.empty()) asked = vm::passable_ones(state.inventory);
  for (const auto& address : asked)
    if (!state.inventory.find(address))
      return fail(ErrorKind::not_found, address.text() + ": there is no such PCI device");
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

Result<VmDoctorReport> of_guest(Host& host, const Globals& globals) {
  VmDoctorReport report{.side = "guest"};
  const auto machine = TRY(inspect_as_asked(host, globals, {.full = true}));
  report.findings = diagnose(machine);
  if (machine.gpus.empty()) report.bus_unread = why_bus_unread(machine);
  for (const auto& unseen : machine.unseen)
    report.unseen.push_back(unseen.what + ": " + unseen.why);
  return report;
}

Result<VmDoctorReport> look(const VmDoctorOptions& options, const NamedDevices& asked) {
  if (options.console) return of_console(*options.console);
  auto host = TRY(open_host(options.globals));
  if (options.side == "guest") return of_guest(*host, options.globals);
  const auto named = TRY(devices_named(*host, asked));
  const auto machine = inspect(*host, {.libraries = false, .kernel_log = true});
  const auto& hypervisor = machine.system.hypervisor;
  const bool guest = hypervisor && *hypervisor != "none" && named.empty();
  if (options.side == "auto" && guest) return of_guest(*host, options.globals);
  return of_host(*host, machine, named);
}

int run_vm_doctor(const VmDoctorOptions& options) {
  const auto start = Clock::now();
  if (options.console && (!options.devices.empty() || options.side != "auto"))
    return complain(Error{ErrorKind::bad_input,
                          "--console is about a guest: do not combine it with DEVICE or --side"});
  const auto named = devices_of(options.devices, options.globals);
  if (!named) return complain(named.error());
  const auto report = look(options, *named);
  if (!report)
    return complain(report.error(), report.error().kind == ErrorKind::not_found && !options.console
                                        ? Exit::required_absent
                                        : Exit::usage);
  Envelope envelope = begin_vm_envelope("vm doctor", options.globals);
  envelope.exit = exit_of(*report);
  envelope.conclusion = conclusion(*report);
  return deliver_report(envelope, *report, start, options.globals);
}

}  // namespace

void declare_vm_doctor(CommandSpec& command) {
  auto options = std::make_shared<VmDoctorOptions>();
  command.run = [options] { return run_vm_doctor(*options); };
  add_vm_output(command, options->globals);
  command.add({
      {.name = "DEVICE",
       .value = &options->devices,
       .help = "PCI addresses of this host's devices, other names of a GPU, or UUIDs of mediated "
               "devices, which stand "
               "for their parent; if not given, all that `vm list` names"},
      {.name = "--console",
       .value = &options->console,
       .help = "Read a guest's console log instead of this machine",
       .type = "FILE",
       .excludes = "--replay",
       .files = Files::read},
      {.name = "--side",
       .value = &options->side,
       .help = "Treat this machine as a host or as a guest",
       .one_of = {"auto", "host", "guest"}},
  });
  command.footer =
      "Exit codes: 0 nothing is wrong; 1 an error was found; 2 wrong usage, or a file cannot be "
      "read;\n3 no such device; 4 the PCI bus cannot be read, or the console does not show whether "
      "a GPU is ready.";
}

}  // namespace gpuready::cli
