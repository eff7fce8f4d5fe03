// Which kernel drivers make a GPU usable, and which set it aside.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "gpuready/machine.h"

namespace gpuready {

struct KernelDriver {
  Vendor vendor;
  std::string_view names;   // as sysfs names them, separated by blanks
  std::string_view people;  // what people call it
};
std::span<const KernelDriver> kernel_drivers();
const KernelDriver* kernel_driver(Vendor vendor);  // nullptr: of no vendor that we know
Vendor vendor_of(const PciDevice& device);
bool module_loaded(const Machine& machine, Vendor vendor);

// No driver is bound to it, or another than its vendor's.
bool unbound(const PciDevice& device);
// A driver that hands GPUs to virtual machines. None binds by itself: somebody set the GPU aside.
bool passes_through(std::string_view driver);
// The processor's own graphics without a driver, beside a GPU that has its own: no one needs it.
bool is_spare(const Machine& machine, const PciDevice& device);

// A share of the host's GPU that Hyper-V gives a virtual machine (GPU-P). Linux reaches it through
// the driver dxgkrnl, as under WSL 2.
bool is_gpu_partition(const PciDevice& device);
bool has_gpu_partition(const Machine& machine);

// Up to NVLink 4 an NVSwitch is a PCI function of the host.
std::ptrdiff_t nvswitches(const Machine& machine);

bool is_laptop(const SystemState& system);  // by its chassis

// Whether a display shows what this GPU draws: one that loses its driver goes dark.
enum class DrivesDisplay { no, maybe, yes };
DrivesDisplay drives_display(const Machine& machine, const PciDevice& device);
// A desktop's or laptop's GPU under a driver for displays, where nothing on the machine computes:
// no library, toolkit or module of its vendor, no container or job.
bool is_display_only(const Machine& machine, const PciDevice& device);

}  // namespace gpuready
