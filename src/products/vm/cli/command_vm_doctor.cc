// `vm doctor`: what keeps a host's devices from virtual machines, or a guest from its GPU.
#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "vm/cli/vm_commands.h"
#include "vm/cli/vm_host.h"
#include "vm/report/exit_rules.h"

namespace gpuready::cli {
namespace {

struct VmDoctorOptions {
  Globals globals;
  std::vector<std::string> devices;
  std::optional<std::string> console;
  std::string side = "auto";
};

Result<VmDoctorReport> look(const VmDoctorOptions& options, const vm::NamedDevices& named) {
  if (options.console) return diagnose_console(*options.console);
  const auto host = TRY(open_host(options.globals));
  return diagnose_side(*host, named, options.side,
                       [&] { return inspect_as_asked(*host, options.globals, {.full = true}); });
}

int run_vm_doctor(const VmDoctorOptions& options) {
  const auto start = Clock::now();
  if (options.console && (!options.devices.empty() || options.side != "auto"))
    return complain(Error{ErrorKind::bad_input,
                          "--console is about a guest: do not combine it with DEVICE or --side"});
  const auto named = devices_of(options.devices, options.globals);
  if (!named) return complain(named.error(), exit_of_lookup(named.error()));
  const auto report = look(options, *named);
  if (!report)
    return complain(report.error(), options.console ? Exit::usage : exit_of_lookup(report.error()));
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
