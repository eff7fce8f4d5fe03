// `vm list` and `vm show`: the devices that virtual machines can be given.
#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "vm/cli/vm_commands.h"
#include "vm/cli/vm_host.h"
#include "vm/report/exit_rules.h"

namespace gpuready::cli {
namespace {

struct VmListOptions {
  Globals globals;
  std::vector<std::string> devices;
  std::optional<std::string> name;
  bool all = false;
};

int finish(const char* command, const Result<VmDevices>& devices, Clock::time_point start,
           const Globals& globals) {
  if (!devices) return complain(devices.error(), exit_of_lookup(devices.error()));
  Envelope envelope = begin_vm_envelope(command, globals);
  envelope.conclusion = conclusion(*devices);
  envelope.exit = exit_of(*devices);
  return deliver_report(envelope, *devices, start, globals);
}

int list(const VmListOptions& options) {
  const auto start = Clock::now();
  const auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  return finish("vm list", list_devices(**host, options.all), start, options.globals);
}

int show(const VmListOptions& options) {
  const auto start = Clock::now();
  const auto named = devices_of(options.devices, options.globals);
  if (!named) return complain(named.error(), exit_of_lookup(named.error()));
  const auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  return finish("vm show", show_devices(**host, *named, options.name), start, options.globals);
}

}  // namespace

void declare_vm_list(CommandSpec& command) {
  auto options = std::make_shared<VmListOptions>();
  command.run = [options] { return list(*options); };
  command.add({{.name = "--all",
                .value = &options->all,
                .help = "Every PCI function except bridges, instead of only GPUs and NVSwitches"}});
  add_vm_output(command, options->globals);
  command.footer =
      "Exit codes: 0 the devices were listed; 2 wrong usage or bad input;\n"
      "4 the PCI bus cannot be read.";
}

void declare_vm_show(CommandSpec& command) {
  auto options = std::make_shared<VmListOptions>();
  command.run = [options] { return show(*options); };
  command.add({{.name = "DEVICE",
                .value = &options->devices,
                .help = "PCI addresses, such as 0000:17:00.0, other names of a GPU, and UUIDs of "
                        "mediated devices; if "
                        "not given, all that `vm list` names"},
               {.name = "--for",
                .value = &options->name,
                .help = "Only those that are attached for this virtual machine",
                .type = "NAME"}});
  add_vm_output(command, options->globals);
  command.footer =
      "Exit codes: 0 the devices were shown; 2 wrong usage or bad input; 3 no such device;\n4 the "
      "PCI bus cannot be read.";
}

}  // namespace gpuready::cli
