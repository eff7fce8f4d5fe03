// The fields of this area's values, once for JSON out and in.
#pragma once

#include "value/field.h"
#include "value/names.h"
#include "vm/device.h"

namespace gpuready {

NAMES_OF(vm::Readiness, "ready", "in_use", "needs", "never");

namespace vm {

FIELDS_OF(Bar) {
  visit.about("bar", "A memory window of a PCI function.");
  FIELD(index, "Which of the six.");
  FIELD(bytes, "Its size.");
  FIELD(prefetchable, "Reads have no side effects.");
  FIELD(wide, "Whether it may be above 4 GiB.");
  FIELD(assigned, "The firmware or the kernel found it an address.");
}

FIELDS_OF(MdevType) {
  visit.about("mdev_type", "A kind of mediated device (vGPU) that the driver can make.");
  FIELD(id, "Name of its folder in sysfs.", kAlways);
  FIELD(name, "Name that its driver gives it.");
  FIELD(available, "How many more can be made.");
  FIELD(instances, "UUIDs of those that exist.");
}

FIELDS_OF(VgpuType) {
  visit.about("vgpu_type", "A kind of vGPU that a virtual function can become.");
  FIELD(id, "What is written into nvidia/current_vgpu_type.", kAlways);
  FIELD(name, "Name that its driver gives it.");
}

FIELDS_OF(PciFunction) {
  visit.about("pci_function", "A PCI function as sysfs shows it.");
  FIELD(address, "PCI address.");
  FIELD(vendor_id, "Vendor.", {.hex_digits = 4});
  FIELD(device_id, "Device.", {.hex_digits = 4});
  FIELD(subsystem_vendor_id, "Vendor of the board.", {.hex_digits = 4});
  FIELD(subsystem_device_id, "Board.", {.hex_digits = 4});
  FIELD(class_code, "Class, subclass and programming interface.", {.hex_digits = 6});
  FIELD(name, "Name by the PCI ID Repository.");
  FIELD(modalias, "What drivers are chosen by.");
  FIELD(driver, "Kernel driver that is bound. Absent: none.");
  FIELD(driver_override, "The only driver that may bind.");
  FIELD(iommu_group, "IOMMU group. Absent: it is behind no IOMMU.");
  FIELD(numa_node, "NUMA node.");
  FIELD(boot_vga, "The firmware chose it as the boot display.");
  FIELD(runtime_status, "active, suspended and others.");
  FIELD(power_control, "on: never suspended; auto.");
  FIELD(d3cold_allowed, "It may lose its power when suspended.");
  FIELD(reset_methods, "In the order in which the kernel tries them.");
  FIELD(behind_bridge, "A bridge is above it, which can reset its bus.");
  FIELD(bars, "Memory windows.");
  FIELD(link_now, "PCIe link as it is. Not read while suspended.");
  FIELD(link_max, "PCIe link as it could be.");
  FIELD(vf_total, "SR-IOV: virtual functions that it can have.");
  FIELD(vf_count, "SR-IOV: virtual functions that exist.");
  FIELD(physical_function, "Of a virtual function: whose it is.");
  FIELD(virtual_functions, "SR-IOV: their addresses.");
  FIELD(mdev_types, "Kinds of mediated devices.");
  FIELD(vgpu_type, "Of a virtual function that NVIDIA's driver has: the vGPU that it is; 0: none.");
  FIELD(vgpu_types, "The vGPUs that it can become.");
  DERIVED(mmio_bytes, mmio_bytes(it.bars), "Memory space that a guest needs for its windows.");
}

FIELDS_OF(Use) {
  visit.about("use", "Who or what uses a function.");
  FIELD(kind, "process, persistence, display, disk, network, virtual functions, mediated device.");
  FIELD(what, "A sentence.", kAlways);
  FIELD(pid, "Of a process.");
  FIELD(whole_machine, "The machine does not run without it.");
  FIELD(ends_with_plan, "vm attach ends it by itself.");
  FIELD(service, "Of a process: the service that it is of, which vm attach stops.");
}

FIELDS_OF(Surroundings) {
  visit.about("surroundings", "What surrounds a function.");
  FIELD(uuid, "UUID of a GPU, if its driver reported one.");
  FIELD(persistence, "Kernel persistence mode is on.");
  FIELD(nodes, "Its device files.");
  FIELD(uses, "Who uses it.");
  FIELD(unclear, "Files that could not be read and decide whether it can be passed through.");
  FIELD(group, "All functions of its IOMMU group, but bridges.");
  FIELD(companions, "Other functions of its slot.");
  FIELD(moves_together, "All that is attached with it, itself included.");
  FIELD(attached_to, "Name that vm attach was given for it.");
  FIELD(quarantine, "Why it cannot be passed through yet.");
  FIELD(not_told, "Why it is not known whom it is attached to.");
  FIELD(readiness, "May it be given to a virtual machine?");
  FIELD(reason, "Why not.");
  FIELD(cure, "What helps.");
}

FIELDS_OF(MediatedFacts) {
  visit.about("mediated_device", "A part of a device that its driver hands to virtual machines.");
  FIELD(uuid, "Its name.", kAlways);
  FIELD(parent, "The device that it is a part of.", kAlways);
  FIELD(type, "Its kind, by the folder in sysfs.", kAlways);
  FIELD(name, "Name that its driver gives this kind.");
  FIELD(api, "What a guest sees: vfio-pci.");
  FIELD(driver, "Kernel driver that is bound. Absent: none.");
  FIELD(iommu_group, "IOMMU group.");
}

FIELDS_OF(VfioVariant) {
  visit.about("vfio_variant", "A VFIO driver made for some devices.");
  FIELD(pattern, "Which devices, as modules.alias has it.", kAlways);
  FIELD(module, "Its module.", kAlways);
}

FIELDS_OF(HugePagePool) {
  visit.about("huge_page_pool", "Huge pages of one size on one NUMA node.");
  FIELD(node, "NUMA node.");
  FIELD(page_bytes, "Size of a page.");
  FIELD(total, "Pages.", {.unit = "pages"});
  FIELD(free, "Free pages.", {.unit = "pages"});
}

FIELDS_OF(HostFacts) {
  visit.about("vm_host", "What the host offers to all devices.");
  FIELD(iommu_groups, "The IOMMU is on: there are groups.");
  FIELD(cpu_vendor, "intel, amd, arm.");
  FIELD(vfio_pci_registered, "The driver vfio-pci is loaded.");
  FIELD(vfio_pci_present, "It is loaded, or a module of this kernel.");
  FIELD(vfio_type1_present, "vfio_iommu_type1 is loaded, or a module of this kernel.");
  FIELD(variants, "VFIO drivers made for some devices.");
  FIELD(services, "Services that run and hold GPUs.");
  FIELD(huge_pages, "Pools of huge pages.");
  FIELD(kernel_release, "Release of the kernel.");
  FIELD(hypervisor, "Of which this machine is a guest.");
  FIELD(effective_uid, "User id.");
}

}  // namespace vm
}  // namespace gpuready
