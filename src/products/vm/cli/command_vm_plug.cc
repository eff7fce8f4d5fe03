// `vm plug` and `vm unplug`: attached devices into and out of a running QEMU.
#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "vm/cli/vm_commands.h"
#include "vm/cli/vm_host.h"
#include "vm/report/exit_rules.h"
#include "vm/report/hotplug_report.h"

namespace gpuready::cli {
namespace {

struct VmPlugOptions {
  Globals globals;
  std::string name, socket;
};

Exit exit_of(const Error& error) {
  return error.kind == ErrorKind::timed_out ? Exit::unknown : exit_of_vm_error(error);
}

int run(const char* command, bool in, const VmPlugOptions& options) {
  const auto start = Clock::now();
  auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  const auto state = vm::read_state(**host, vm::kJournalFolder);
  if (!state) return complain(state.error(), exit_of(state.error()));
  const auto attached = vm::attached_to(*state, options.name);
  if (!attached) return complain(attached.error(), exit_of(attached.error()));
  if (in && !attached->notes.empty())
    return complain({ErrorKind::device, attached->notes.front(), 0}, Exit::unhealthy);
  const auto timeout = to_milliseconds(options.globals.timeout_s.value_or(60));
  auto done = (in ? vm::plug : vm::unplug)(
      options.socket, vm::guest_slots(attached->devices, attached->instances), timeout);
  if (!done) return complain(done.error(), exit_of(done.error()));
  Envelope envelope = begin_vm_envelope(command, options.globals);
  return deliver_report(envelope, HotPlugReport{options.name, std::move(*done)}, start,
                        options.globals);
}

void declare(CommandSpec& command, const char* name, bool in) {
  auto options = std::make_shared<VmPlugOptions>();
  command.run = [=] { return run(name, in, *options); };
  command.add({{.name = "--for",
                .value = &options->name,
                .help = "Name for which the devices were attached",
                .type = "NAME",
                .required = true},
               {.name = "--qmp",
                .value = &options->socket,
                .help = "QEMU's monitor: SOCKET of -qmp unix:SOCKET,server=on,wait=off",
                .type = "SOCKET",
                .required = true},
               {.name = "--timeout",
                .value = &options->globals.timeout_s,
                .help = "How long the guest may take to release a device (default: 60 s)",
                .range = Range{1, 3600},
                .seconds = true}});
  add_vm_output(command, options->globals);
  command.footer =
      "Exit codes: 0 done; 1 QEMU or the guest refused, and what was plugged is unplugged again;\n"
      "2 wrong usage; 3 nothing is attached for NAME, or no such socket; 4 the guest did not "
      "release\na device in time, or another program uses the socket.";
}

}  // namespace

void declare_vm_plug(CommandSpec& command) { declare(command, "vm plug", true); }
void declare_vm_unplug(CommandSpec& command) { declare(command, "vm unplug", false); }

}  // namespace gpuready::cli
