// Disks that something claims exclusively: what the kernel itself holds is in no table.
#pragma once

#include "host/host.h"
#include "vm/device.h"
#include "vm/usage/storage_use.h"

namespace gpuready::vm {

// Of devices that are otherwise idle, each disk is asked by an exclusive open in a child of its own
// (probe "disk-claims"). One that is claimed is a use; one that does not answer makes its devices
// unclear. Nothing is read from the disks.
void find_disk_claims(Host& host, const StorageUse& storage, Inventory& inventory);

}  // namespace gpuready::vm
