// `vm list` and `vm show`: the devices that virtual machines can be given.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "vm/cli/vm_commands.h"
#include "vm/cli/vm_host.h"
#include "vm/readiness.h"
#include "vm/report/devices_report.h"
#include "vm/report/exit_rules.h"

namespace gpuready::cli {
namespace {

struct VmListOptions {
  Globals globals;
  std::vector<std::string> devices;
  std::optional<std::string> name;
  bool all = false;
};

int finish(const char* command, const VmDevices& devices, Clock::time_point start,
           const Globals& globals) {
  Envelope envelope = begin_vm_envelope(command, globals);
  envelope.conclusion = conclusion(devices);
  envelope.exit = exit_of(devices);
  return deliver_report(envelope, devices, start, globals);
}

int list(const VmListOptions& options) {
  const auto start = Clock::now();
  auto host = open_vm_host(options.globals, {.all = options.all});
  if (!host) return complain(host.error());
  VmDevices devices{.inventory = std::move(host->inventory), .shown = {}};
  devices.shown = vm::passable_ones(devices.inventory, options.all);
  devices.instances = vm::every_instance(devices.inventory);
  return finish("vm list", devices, start, options.globals);
}

int show(const VmListOptions& options) {
  const auto start = Clock::now();
  const auto named = devices_of(options.devices, options.globals);
  if (!named) return complain(named.error());
  auto host = open_vm_host(options.globals, {.all = false, .named = named->devices});
  if (!host) return complain(host.error());
  VmDevices devices{.inventory = std::move(host->inventory),
                    .shown = named->devices,
                    .in_full = true,
                    .instances = named->instances};
  if (options.devices.empty()) {
    devices.shown = vm::passable_ones(devices.inventory);
    devices.instances = vm::every_instance(devices.inventory);
  }
  if (options.name)
    std::erase_if(devices.shown, [&](const PciAddress& address) {
      const auto* device = devices.inventory.find(address);
      return device && device->around.attached_to != options.name;
    });
  if (options.name)
    std::erase_if(devices.instances, [&](const std::string& uuid) {
      const auto* instance = devices.inventory.find_instance(uuid);
      return instance && instance->around.attached_to != options.name;
    });
  if (options.name && devices.shown.empty() && devices.instances.empty())
    return complain(
        {ErrorKind::not_found,
         *options.name + ": nothing is attached for it; gpuready vm status names what is", 0},
        Exit::required_absent);
  for (const auto& address : devices.shown)
    if (!devices.inventory.find(address))
      return complain(
          {ErrorKind::not_found,
           address.text() + ": there is no such PCI device; gpuready vm list --all names them", 0},
          Exit::required_absent);
  for (const auto& uuid : devices.instances)
    if (!devices.inventory.find_instance(uuid))
      return complain({ErrorKind::not_found,
                       uuid + ": there is no such mediated device; gpuready vm list names them", 0},
                      Exit::required_absent);
  return finish("vm show", devices, start, options.globals);
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
