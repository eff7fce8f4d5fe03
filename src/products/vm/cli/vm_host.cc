#include "vm/cli/vm_host.h"

namespace gpuready::cli {

Result<vm::NamedDevices> devices_of(const std::vector<std::string>& names, const Globals& globals) {
  const auto host = TRY(open_host(globals));
  return vm::devices_named(*host, names);
}

void add_vm_output(CommandSpec& command, Globals& globals) {
  command.add({replay_option(globals.replay)});
  command.reads.emplace_back(vm::kJournalFolder);
  add_output(command, globals);
}

Exit exit_of_lookup(const Error& error) {
  return error.kind == ErrorKind::not_found ? Exit::required_absent : Exit::usage;
}

Envelope begin_vm_envelope(std::string command, const Globals& globals) {
  Envelope envelope = begin_envelope(std::move(command));
  if (globals.replay) envelope.machine_id = envelope.boot_id = std::nullopt;
  return envelope;
}

}  // namespace gpuready::cli
