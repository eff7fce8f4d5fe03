// The fields of a driver bundle, described once: they drive bundle.json out and in, its schema and
// the table of docs/vm-drivers.md.
#pragma once

#include "value/document.h"
#include "vm/drivers/bundle.h"

namespace gpuready::vm {

FIELDS_OF(ModuleInfo) {
  visit.about("module", "What a kernel module says of itself (.modinfo).");
  FIELD(name, "The module's name, as \"nvidia_uvm\".", kAlways);
  FIELD(kernel_release, "The kernel release that it was built for.");
  FIELD(vermagic, "The kernel's version and options, all of which must fit.");
  FIELD(version, "The driver's version.");
  FIELD(license, "Its licence; \"Dual MIT/GPL\" for the open modules.");
  FIELD(depends, "Modules that must be loaded before it.");
  FIELD(is_signed, "A signature is appended to the file.");
}

FIELDS_OF(DriverFile) {
  visit.about("file", "One file of the driver.");
  FIELD(path, "Its path in the bundle.", kAlways);
  FIELD(kind, "What it is.");
  FIELD(size_bytes, "Its size.");
  FIELD(sha256, "Its SHA-256.", kAlways);
  FIELD(source, "Where it was found.");
  FIELD(capabilities,
        "What it serves; absent of modules and firmware, which every use needs. `other`: not known "
        "to serve one of them, so it comes along with all.");
  FIELD(machine, "The processor that it is for: x86_64, aarch64.");
  FIELD(soname, "The name by which programs load a library (DT_SONAME).");
  FIELD(needed, "The libraries that it loads itself (DT_NEEDED).");
  FIELD(links, "Further names by which programs load a library.");
  FIELD(install_path, "The one place of this file in a root.");
  FIELD(module, "Of a kernel module: what it says of itself.");
}

FIELDS_OF(DriverNode) {
  visit.about("node", "A device node of the machine that the bundle was collected on.");
  FIELD(path, "The node.", kAlways);
  FIELD(device_major, "Major number.");
  FIELD(device_minor, "Minor number.");
  FIELD(mode, "Permission bits.", {.octal = true});
}

FIELDS_OF(DriverBundle) {
  visit.about("bundle", "One NVIDIA driver as guests need it.");
  FIELD(driver_version, "The version of its libraries, modules and firmware.", kAlways);
  FIELD(machine, "The processor that its libraries are for.");
  FIELD(source, "What it was collected from.");
  FIELD(created_utc, "When.");
  FIELD(kernel_releases, "The kernel releases for which it has modules.", kAlways);
  FIELD(open_modules, "Its modules are the open ones.");
  FIELD(files, "Its files, by path.", kAlways);
  FIELD(nodes, "Device nodes of the machine that it was collected on.");
  FIELD(warnings, "What may be missing.");
  FIELD(supported_gpus, "PCI device ids of NVIDIA's GPUs that the driver's own list names.",
        {.hex_digits = 4});
}

}  // namespace gpuready::vm

namespace gpuready {
DOCUMENT_OF(vm::DriverBundle, .name = "driver-bundle");
}  // namespace gpuready
