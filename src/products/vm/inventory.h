// Reads what `vm` decides by: the devices, what surrounds them, and what the host offers. Nothing
// is changed and nothing suspended is woken.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/host.h"
#include "vm/device.h"

namespace gpuready::vm {

struct InventoryOptions {
  bool all = false;                    // every function but bridges; else what is_passable() names
  std::vector<PciAddress> named = {};  // these as well, whatever they are
};

// `machine` is what inspect() found: names, NVIDIA's minor numbers, persistence, processes.
Inventory read_inventory(Host& host, const Machine& machine, const InventoryOptions& options = {});

// Who holds device files open or mapped, as the probe "open-files" found.
struct OpenFile {
  std::uint32_t pid = 0;  // 0: the kernel's console
  std::string path;       // as the kernel names the node; "anon_inode:[vfio-device]"
  bool is_vfio_device() const { return path.starts_with("anon_inode:"); }
};
struct OpenFiles {
  std::vector<OpenFile> files;
  std::map<std::string, std::string> places;  // of a path: where the device is in sysfs
  std::vector<std::string> mounts;            // lines of mountinfo of other mount namespaces
  std::optional<std::string> unseen;          // why not all processes could be looked into
};
const ProbeRequest& open_files_request();
OpenFiles read_open_files(Host& host);
OpenFiles open_files_from(const ProbeDocument& document);

}  // namespace gpuready::vm
