#include "machine/system/kernel_drivers.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "base/vendor_codes.h"
#include "machine/gpu_use.h"

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

constexpr std::uint32_t kVga = 0x0300;  // class and subclass of a VGA controller

// SMBIOS 3.7, table 17.
template <std::size_t N>
bool chassis_is(const SystemState& system, const int (&types)[N]) {
  return system.chassis_type && std::ranges::find(types, *system.chassis_type) != std::end(types);
}
bool is_server(const SystemState& system) {
  constexpr int kServers[] = {17, 23, 25, 28, 29};  // server, rack, multi-system, blade, enclosure
  return chassis_is(system, kServers);
}

bool is_integrated(const Machine& machine, const PciDevice& device) {
  const auto* gpu = machine.find_gpu(device.address);
  return gpu && gpu->integrated;
}

// Software that computes on GPUs of this vendor was installed, or its GPUs were asked for.
bool computes(const Machine& machine, Vendor vendor) {
  if (!machine.libraries.empty()) return true;
  const auto has = [&](std::string_view kind) {
    return std::ranges::any_of(machine.toolkits,
                               [&](const Toolkit& toolkit) { return toolkit.kind == kind; });
  };
  const auto& see = machine.visibility;
  switch (vendor) {
    case Vendor::nvidia:
      return machine.nvidia.module_loaded || !machine.nvidia.libraries.empty() || has("cuda") ||
             see.cuda_visible_devices || see.nvidia_visible_devices;
    case Vendor::amd:
      return machine.amd.rocm_version || !machine.amd.rocblas_targets.empty() || has("rocm") ||
             see.rocr_visible_devices || see.hip_visible_devices;
    default:
      return true;
  }
}

}  // namespace

bool is_laptop(const SystemState& system) {
  constexpr int kLaptops[] = {8, 9, 10, 11, 14, 30, 31, 32};
  return chassis_is(system, kLaptops);
}

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

bool is_gpu_partition(const PciDevice& device) {
  constexpr std::uint16_t kMicrosoft = 0x1414, kPartition = 0x008e;
  return device.vendor_id == kMicrosoft && device.device_id == kPartition;
}

bool has_gpu_partition(const Machine& machine) {
  return std::ranges::any_of(machine.pci, is_gpu_partition);
}

std::ptrdiff_t nvswitches(const Machine& machine) {
  constexpr std::uint32_t kOtherBridge = 0x068000;
  constexpr std::uint16_t kFirst = 0x1ac0;  // nForce's network adapters of that class are below
  return std::ranges::count_if(machine.pci, [](const PciDevice& device) {
    return device.vendor_id == pci_vendor::kNvidia && device.class_code == kOtherBridge &&
           device.device_id >= kFirst;
  });
}

DrivesDisplay drives_display(const Machine& machine, const PciDevice& device) {
  if (!device.is_gpu || (device.driver && passes_through(*device.driver))) return DrivesDisplay::no;
  if (device.display_connected.value_or(false)) return DrivesDisplay::yes;
  const bool console = device.boot_vga.value_or(false);
  if (device.display_connected && !console) return DrivesDisplay::no;
  // A 3D controller has no output of its own that the firmware could use.
  if (device.class_code >> 8 != kVga && !console) return DrivesDisplay::no;
  if (console) return DrivesDisplay::maybe;
  const bool another = std::ranges::any_of(
      machine.pci, [](const PciDevice& other) { return other.boot_vga.value_or(false); });
  // Nothing is known of its outputs. Who installed NVIDIA's driver wants to compute.
  const bool draws = device.driver && *device.driver != "nvidia";
  return draws && !another ? DrivesDisplay::maybe : DrivesDisplay::no;
}

bool is_display_only(const Machine& machine, const PciDevice& device) {
  if (!device.driver || !unbound(device) || passes_through(*device.driver)) return false;
  if (machine.container.runtime || in_slurm_job(machine) || is_server(machine.system)) return false;
  constexpr std::ptrdiff_t kMostOnADesktop = 2;
  const auto vendor = vendor_of(device);
  const auto cards = std::ranges::count_if(machine.pci, [&](const PciDevice& other) {
    return other.is_gpu && vendor_of(other) == vendor;
  });
  if (computes(machine, vendor) || cards > kMostOnADesktop) return false;
  const auto display = drives_display(machine, device);
  if (machine.system.hypervisor && display != DrivesDisplay::yes) return false;
  if (display != DrivesDisplay::no) return true;
  // The second GPU of a laptop, or of a desktop whose display another one drives.
  return is_laptop(machine.system) || std::ranges::any_of(machine.pci, [&](const PciDevice& other) {
           return other.display_connected.value_or(false) &&
                  (device.class_code >> 8 == kVga || is_integrated(machine, other));
         });
}

}  // namespace gpuready
