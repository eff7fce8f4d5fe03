// What `vm list` and `vm show` tell, as a document and as text.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"
#include "value/envelope.h"
#include "vm/device.h"

namespace gpuready {

struct VmDevices {
  vm::Inventory inventory;
  std::vector<PciAddress> shown;            // of these; the rest moves with them
  bool in_full = false;                     // `vm show`
  std::vector<std::string> instances = {};  // UUIDs of mediated devices
};

std::string render_terminal(const VmDevices& devices, const TerminalStyle& style);

// Those that are shown.
std::vector<const vm::Device*> shown(const VmDevices& devices);
std::vector<const vm::MediatedDevice*> shown_instances(const VmDevices& devices);

// "2 of 3 devices are ready to be given to a virtual machine."
std::string conclusion(const VmDevices& devices);

}  // namespace gpuready
