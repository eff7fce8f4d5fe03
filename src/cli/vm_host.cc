#include "cli/vm_host.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gpuready::cli {

Result<std::vector<PciAddress>> addresses_of(const std::vector<std::string>& texts) {
  std::vector<PciAddress> addresses;
  for (const auto& text : texts) {
    const auto address = parse_pci_address(text);
    if (!address)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: expected a PCI address such as 0000:17:00.0; `gpuready vm list` "
                              "prints the addresses",
                              printable(text)));
    addresses.push_back(*address);
  }
  return addresses;
}

Result<NamedDevices> devices_of(const std::vector<std::string>& texts) {
  NamedDevices named;
  std::vector<std::string> addresses;
  for (const auto& text : texts) {
    const auto small = to_lower(text);
    if (vm::is_uuid(small))
      named.instances.push_back(small);
    else
      addresses.push_back(text);
  }
  named.devices = TRY(addresses_of(addresses));
  return named;
}

void add_vm_output(CommandSpec& command, Globals& globals) {
  command.add({{.name = "--replay",
                .value = &globals.replay,
                .help = "Use a recording instead of this machine",
                .type = "FILE",
                .files = Files::read}});
  command.reads.emplace_back(vm::kJournalFolder);
  add_output(command, globals);
}

Result<VmHost> open_vm_host(const Globals& globals, const vm::InventoryOptions& options) {
  VmHost out;
  out.host = TRY(open_host(globals));
  auto state = TRY(vm::read_state(*out.host, vm::kJournalFolder, options));
  out.inventory = std::move(state.inventory);
  return out;
}

Envelope begin_vm_envelope(std::string command, const Globals& globals) {
  Envelope envelope = begin_envelope(std::move(command));
  if (globals.replay) envelope.machine_id = envelope.boot_id = std::nullopt;
  return envelope;
}

}  // namespace gpuready::cli
