// What the commands of `vm` share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/options.h"
#include "vm/operations.h"

namespace gpuready::cli {

// What people name: PCI addresses, GPUs by their other names, mediated devices by their UUIDs.
struct NamedDevices {
  std::vector<PciAddress> devices;
  std::vector<std::string> instances;
};
Result<NamedDevices> devices_of(const std::vector<std::string>& texts, const Globals& globals);

// Of devices as people name them: "17:00.0", "0000:17:00.0", or the one GPU with this name.
Result<std::vector<PciAddress>> addresses_of(const std::vector<std::string>& texts,
                                             const Globals& globals);

// The options of every command that reads the machine: --json, --replay, --quiet, --no-color.
void add_vm_output(CommandSpec& command, Globals& globals);

struct VmHost {
  std::unique_ptr<Host> host;
  vm::Inventory inventory;
};
Result<VmHost> open_vm_host(const Globals& globals, const vm::InventoryOptions& options);

// begin_envelope(), without this machine's ids where a recording is replayed.
Envelope begin_vm_envelope(std::string command, const Globals& globals);

}  // namespace gpuready::cli
