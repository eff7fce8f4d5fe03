#include "machine/kernel_drivers.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace gpuready {
namespace {

constexpr KernelDriver kDrivers[] = {
    {Vendor::nvidia, "nvidia", "NVIDIA's"},
    {Vendor::amd, "amdgpu", "AMD's (amdgpu)"},
    {Vendor::intel, "xe i915", "Intel's (xe or i915)"},
};
struct Id {
  std::uint16_t id;
  Vendor vendor;
};
constexpr Id kIds[] = {{0x10de, Vendor::nvidia}, {0x1002, Vendor::amd}, {0x8086, Vendor::intel}};
constexpr std::string_view kPassThrough[] = {
    "pci-stub", "pciback", "xen-pciback",
    "gim",  // AMD's host driver for virtual functions
};

}  // namespace

std::span<const KernelDriver> kernel_drivers() { return kDrivers; }

const KernelDriver* kernel_driver(Vendor vendor) {
  for (const auto& driver : kDrivers)
    if (driver.vendor == vendor) return &driver;
  return nullptr;
}

Vendor vendor_of(const PciDevice& device) {
  for (const auto& known : kIds)
    if (known.id == device.vendor_id) return known.vendor;
  return Vendor::other;
}

bool module_loaded(const Machine& machine, Vendor vendor) {
  switch (vendor) {
    case Vendor::nvidia:
      return machine.nvidia.module_loaded;
    case Vendor::amd:
      return machine.amd.module_loaded;
    case Vendor::intel:
      return machine.intel.i915_loaded || machine.intel.xe_loaded;
    default:
      return true;
  }
}

bool unbound(const PciDevice& device) {
  const auto* wanted = kernel_driver(vendor_of(device));
  if (!wanted) return false;
  const auto names = split(wanted->names, " ");
  return !device.driver || std::find(names.begin(), names.end(), *device.driver) == names.end();
}

bool passes_through(std::string_view driver) {
  return contains(driver, "vfio") || std::find(std::begin(kPassThrough), std::end(kPassThrough),
                                               driver) != std::end(kPassThrough);
}

bool is_spare(const Machine& machine, const PciDevice& device) {
  const auto* gpu = machine.find_gpu(device.address);
  return gpu && gpu->integrated && unbound(device) &&
         std::any_of(machine.pci.begin(), machine.pci.end(), [&](const PciDevice& other) {
           return other.is_gpu && other.address != device.address && !unbound(other);
         });
}

}  // namespace gpuready
