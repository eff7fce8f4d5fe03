// What a virtual machine's owner must know of one PCI function, as sysfs shows it (Linux,
// Documentation/ABI/testing/sysfs-bus-pci). Nothing here wakes a suspended device: the link's
// attributes, which read its configuration space, are left out then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/machine.h"
#include "host/host.h"

namespace gpuready::vm {

struct Bar {
  int index = 0;
  std::uint64_t bytes = 0;
  bool prefetchable = false, wide = false;  // wide: may lie above 4 GiB
  bool assigned = false;                    // the firmware or the kernel found it an address
};

// A kind of mediated device (vGPU) that the function's driver can make.
struct MdevType {
  std::string id;                      // "nvidia-63", the folder's name
  std::optional<std::string> name;     // "GRID P40-2Q"
  std::optional<int> available;        // how many more can be made
  std::vector<std::string> instances;  // UUIDs
};

// A kind of vGPU that NVIDIA's driver can make of a virtual function.
struct VgpuType {
  std::string id;                   // "558", what is written into nvidia/current_vgpu_type
  std::optional<std::string> name;  // "NVIDIA A40-2Q"
};

struct PciFunction {
  PciAddress address;
  std::uint16_t vendor_id = 0, device_id = 0;
  std::optional<std::uint16_t> subsystem_vendor_id, subsystem_device_id;
  std::uint32_t class_code = 0;         // 24 bits: 0x030200
  std::optional<std::string> name;      // from pci.ids
  std::optional<std::string> modalias;  // "pci:v000010DEd00002330sv..."
  std::optional<std::string> driver;    // bound now
  std::optional<std::string> driver_override;
  std::optional<int> iommu_group, numa_node;
  std::optional<bool> boot_vga;
  std::optional<std::string> runtime_status;  // "active", "suspended"
  std::optional<std::string> power_control;   // "on", "auto"
  std::optional<bool> d3cold_allowed;
  std::vector<std::string> reset_methods;  // in the order in which the kernel tries them
  bool behind_bridge = false;              // so its bus can be reset, with all functions on it
  std::vector<Bar> bars;                   // memory BARs
  PcieLink link_now, link_max;
  std::optional<int> vf_total, vf_count;        // SR-IOV: possible, existing
  std::optional<PciAddress> physical_function;  // of a virtual function
  std::vector<PciAddress> virtual_functions;
  std::vector<MdevType> mdev_types;
  // Of a virtual function where NVIDIA's driver makes vGPUs without mediated devices (Linux 6.8 and
  // newer): the type that it has, "0" for none, and those that it could be given.
  std::optional<std::string> vgpu_type;
  std::vector<VgpuType> vgpu_types;

  // It is a vGPU: its own driver hands it to virtual machines, and no other can take it.
  bool is_vgpu() const { return vgpu_type && *vgpu_type != "0"; }
  bool is_bridge() const { return class_code >> 16 == 0x06 && class_code >> 8 != 0x0680; }
  // A host bridge or a bridge to another bus: VFIO lets it keep its driver while others of its
  // group are given away.
  bool stays_with_host() const {
    return class_code >> 8 == 0x0600 || class_code >> 8 == 0x0604 || class_code >> 8 == 0x0609;
  }
  bool suspended() const;
};

// The folder of a function in sysfs, without a slash at its end.
std::string folder_of(const PciAddress& address);

// not_found when there is none at this address, or it goes away while it is read. Attributes that
// wait for a lock are left to read_locked_attributes().
// `unclear`: what decides whether it may be given away and could not be read (strict_reader.h).
Result<PciFunction> read_pci_function(Host& host, const PciAddress& address,
                                      std::vector<std::string>* unclear = nullptr);

// Reads the attributes that wait for the device's lock or for its driver: driver_override, resets,
// virtual functions, types of vGPUs. Those of a device whose driver never returned are never
// answered, so a child with a deadline asks for all, and such a device's are left out.
struct LockedRead {
  PciFunction* function;
  std::vector<std::string>* unclear;
};
void read_locked_attributes(Host& host, std::span<const LockedRead> reads);

// `creatable_vgpu_types`: a heading, then "558 : NVIDIA A40-2Q" a line.
std::vector<VgpuType> parse_vgpu_types(std::string_view text);
// The attribute that makes a vGPU of a virtual function.
std::string vgpu_attribute(const PciAddress& address);

// `resource`: "start end flags" a line; the first six are the BARs.
std::vector<Bar> parse_bars(std::string_view text);
// Bytes of MMIO that a guest must find room for: each BAR rounded up to a power of two.
std::uint64_t mmio_bytes(const std::vector<Bar>& bars);

}  // namespace gpuready::vm
