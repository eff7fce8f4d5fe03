#include "base/units.h"
#include "report/json_parts.h"

namespace gpuready {

Json link_json(const PcieLink& link) {
  Json doc = Json::object();
  put(doc, "generation", link.generation);
  put(doc, "width", link.width);
  return doc;
}

Json pcie_errors_json(const PcieErrors& errors) {
  Json doc = Json::object();
  put(doc, "correctable", errors.correctable);
  put(doc, "nonfatal", errors.nonfatal);
  put(doc, "fatal", errors.fatal);
  put(doc, "replays", errors.replays);
  return doc;
}

// Identifiers are written as lspci and sysfs write them, so that they can be searched for.
Json pci_device_json(const PciDevice& device) {
  Json doc = Json::object();
  doc["address"] = device.address.text();
  doc["vendor_id"] = format_hex(device.vendor_id, 4);
  doc["device_id"] = format_hex(device.device_id, 4);
  if (device.subsystem_vendor_id)
    doc["subsystem_vendor_id"] = format_hex(*device.subsystem_vendor_id, 4);
  if (device.subsystem_device_id)
    doc["subsystem_device_id"] = format_hex(*device.subsystem_device_id, 4);
  doc["class_code"] = format_hex(device.class_code, 6);
  doc["is_gpu"] = device.is_gpu;
  put(doc, "driver", device.driver);
  put(doc, "name", device.name);
  put(doc, "runtime_status", device.runtime_status);
  put(doc, "numa_node", device.numa_node);
  put(doc, "local_cpus", device.local_cpus);
  put(doc, "iommu_group", device.iommu_group);
  put(doc, "boot_vga", device.boot_vga);
  put_part(doc, "link_now", link_json(device.link_now));
  put_part(doc, "link_max", link_json(device.link_max));
  put_part(doc, "port_link_now", link_json(device.port_link_now));
  put_part(doc, "port_link_max", link_json(device.port_link_max));
  put_part(doc, "errors", pcie_errors_json(device.errors));
  put_list(doc, "path", device.path, [](const PciAddress& address) { return address.text(); });
  put(doc, "host_bridge", device.host_bridge);
  put_list(doc, "bar_sizes_bytes", device.bar_sizes_bytes, [](std::uint64_t size) { return size; });
  return doc;
}

}  // namespace gpuready
