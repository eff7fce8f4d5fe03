// A hypervisor's arguments for attached devices. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/named.h"
#include "vm/device.h"

namespace gpuready::vm {

enum class Hypervisor { qemu, libvirt, cloud_hypervisor };

struct GuestArgs {
  std::vector<std::string> arguments;  // qemu, cloud-hypervisor
  std::string xml;                     // libvirt: <hostdev> elements
  std::vector<std::string> notes;
};

// `devices` in the order in which the guest shall see them. Functions of one slot stay one slot,
// each slot behind a root port of its own; a virtual function
// or a mediated device is a slot of its own. `managed`: libvirt binds them.
GuestArgs guest_args(Hypervisor hypervisor, const std::vector<const Device*>& devices, bool managed,
                     const std::vector<const MediatedDevice*>& instances = {});

// MiB that a 64-bit window for these devices takes: the sum of their 64-bit MMIO, each slot rounded
// up to a power of two; that doubled for alignment, and rounded up to a power of two.
std::uint64_t window_mib(const std::vector<const Device*>& devices);

}  // namespace gpuready::vm

namespace gpuready {
NAMES_OF(vm::Hypervisor, "qemu", "libvirt", "cloud-hypervisor");
}  // namespace gpuready
