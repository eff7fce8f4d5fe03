// A hypervisor's arguments for attached devices. Pure.
#pragma once

#include <cstddef>
#include <optional>
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

// A function as QEMU gets it: -device DRIVER,PROPERTY=VALUE.
struct GuestFunction {
  std::string property, value;  // host=0000:17:00.0, sysfsdev=/sys/bus/mdev/devices/UUID
  std::optional<std::size_t> clique = {};
  std::string driver = "vfio-pci";
};
using GuestSlot = std::vector<GuestFunction>;  // by function number

// The slots that a guest gets, each behind a root port of its own: the functions of a slot
// together, and each virtual function and mediated device in its own.
std::vector<GuestSlot> guest_slots(const std::vector<const Device*>& devices,
                                   const std::vector<const MediatedDevice*>& instances);

// `devices` in the order in which the guest shall see them. `managed`: libvirt binds them.
GuestArgs guest_args(Hypervisor hypervisor, const std::vector<const Device*>& devices, bool managed,
                     const std::vector<const MediatedDevice*>& instances = {});

// MiB that a 64-bit window for these devices takes: the sum of their 64-bit MMIO, each slot rounded
// up to a power of two; that doubled for alignment, and rounded up to a power of two.
std::uint64_t window_mib(const std::vector<const Device*>& devices);

}  // namespace gpuready::vm

namespace gpuready {
NAMES_OF(vm::Hypervisor, "qemu", "libvirt", "cloud-hypervisor");
}  // namespace gpuready
