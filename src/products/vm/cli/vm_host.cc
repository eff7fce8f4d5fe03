#include "vm/cli/vm_host.h"

#include <fmt/format.h>

#include "base/text.h"
#include "machine/gpu_choice.h"
#include "vm/identity.h"

namespace gpuready::cli {

Result<std::vector<PciAddress>> addresses_of(const std::vector<std::string>& texts,
                                             const Globals& globals) {
  std::vector<PciAddress> addresses;
  std::optional<Machine> machine;
  std::vector<vm::Claim> claims;
  for (const auto& text : texts) {
    if (const auto address = parse_pci_address(text)) {
      addresses.push_back(*address);
      continue;
    }
    if (!machine) {
      const auto host = TRY(open_host(globals));
      machine = inspect(*host, {.libraries = false});
      if (auto known = vm::read_claims(*host, vm::kJournalFolder, *machine))
        claims = std::move(*known);
    }
    if (const auto claimed = vm::claimed_device(claims, text)) {
      addresses.push_back(*claimed);
      continue;
    }
    const auto gpu = gpu_named(*machine, "DEVICE", text);
    if (!gpu || !(*gpu)->pci)
      return fail(ErrorKind::bad_input,
                  (gpu ? printable(text) + ": this GPU is not a PCI device" : gpu.error().message) +
                      ". `gpuready vm list` names all devices by their PCI addresses");
    addresses.push_back(*(*gpu)->pci);
  }
  return addresses;
}

Result<NamedDevices> devices_of(const std::vector<std::string>& texts, const Globals& globals) {
  NamedDevices named;
  std::vector<std::string> addresses;
  for (const auto& text : texts) {
    const auto small = to_lower(text);
    if (vm::is_uuid(small) && !addresses_of({text}, globals))  // "GPU-" may be left out
      named.instances.push_back(small);
    else
      addresses.push_back(text);
  }
  named.devices = TRY(addresses_of(addresses, globals));
  return named;
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
