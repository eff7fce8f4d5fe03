// Reads what `vm` decides by: the devices, what surrounds them, and what the host offers. Nothing
// is changed and nothing suspended is woken.
#pragma once

#include "vm/device.h"

namespace gpuready::vm {

struct InventoryOptions {
  bool all = false;                    // every function but bridges; else what is_passable() names
  std::vector<PciAddress> named = {};  // these as well, whatever they are
};

// `machine` is what inspect() found: names, NVIDIA's minor numbers, persistence, processes.
Inventory read_inventory(Host& host, const Machine& machine, const InventoryOptions& options = {});

// Who holds device files open, as the probe "open-files" found: /proc/PID/fd and /proc/PID/maps.
struct OpenFile {
  std::uint32_t pid = 0;
  std::string path;
};
struct OpenFiles {
  std::vector<OpenFile> files;
  std::optional<std::string> unseen;  // why not all processes could be looked into
};
OpenFiles read_open_files(Host& host);
OpenFiles open_files_from(const ProbeDocument& document);

}  // namespace gpuready::vm
