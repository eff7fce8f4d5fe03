// One word a device: may it be given to a virtual machine? Pure.
#pragma once

#include "vm/device.h"

namespace gpuready::vm {

// Fills readiness, reason and cure of every device. What holds of one holds of all that move with
// it.
void assess(Inventory& inventory);

// How the kernel is told to start its IOMMU, for this processor.
std::string iommu_cure(const HostFacts& host);

}  // namespace gpuready::vm
