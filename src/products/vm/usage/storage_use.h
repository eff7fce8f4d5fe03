// Which PCI functions carry the machine's filesystems and swap, whatever lies between.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/machine.h"
#include "host/host.h"

namespace gpuready::vm {

struct StorageUse {
  struct Disk {
    std::string name;           // "nvme0n1", "nvme0n1p2", "dm-0"
    std::set<PciAddress> path;  // all functions on the way to it, through every layer below it
    std::string used_by;        // "/data", "swap", "dm-0"; empty: no one
    bool essential = false;     // the root filesystem or swap
    bool whole = true;          // not a partition, and not the hidden path of another
  };
  // A filesystem that a virtio device carries without a block device.
  struct VirtioMount {
    std::string point, type;
    std::string driver;  // of the virtio device
  };
  std::vector<Disk> disks;
  std::vector<VirtioMount> of_virtio;
  std::vector<std::string> unclear;  // what could not be read, so that a use may be unseen
  bool pools_unknown = false;        // ZFS: which disks it uses is not told
};
// `foreign`: lines of mountinfo of other mount namespaces.
StorageUse read_storage_use(Host& host, const std::vector<std::string>& foreign = {});

}  // namespace gpuready::vm
