// One word a device: may it be given to a virtual machine? Pure.
#pragma once

#include "vm/device.h"

namespace gpuready::vm {

// Fills readiness, reason and cure of every device. What holds of one holds of all that move with
// it.
void assess(Inventory& inventory);

// How the kernel is told to start its IOMMU, for this processor.
std::string iommu_cure(const HostFacts& host);

// What `vm list` shows: GPUs, accelerators and switches, and what goes with them; `all`:
// everything.
std::vector<PciAddress> passable_ones(const Inventory& inventory, bool all = false);
std::vector<std::string> every_instance(const Inventory& inventory);  // by UUID

}  // namespace gpuready::vm
