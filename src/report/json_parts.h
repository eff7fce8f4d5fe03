// The parts of a Machine's document, one function a file's worth of structs.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "base/json.h"
#include "gpuready/finding.h"
#include "gpuready/machine.h"
#include "gpuready/samples.h"
#include "gpuready/verdict.h"

namespace gpuready {

Json gpu_json(const Gpu& gpu);                    // gpu_json.cc
Json pci_device_json(const PciDevice& device);    // pci_json.cc
Json link_json(const PcieLink& link);             // pci_json.cc
Json pcie_errors_json(const PcieErrors& errors);  // pci_json.cc
Json api_status_json(const ApiStatus& status);    // software_json.cc
Json library_json(const LibraryFile& library);    // software_json.cc
Json toolkit_json(const Toolkit& toolkit);        // software_json.cc
Json nvidia_json(const NvidiaDriver& driver);     // software_json.cc
Json amd_json(const AmdDriver& driver);           // software_json.cc
Json intel_json(const IntelDriver& driver);       // software_json.cc
Json apple_json(const AppleState& apple);         // software_json.cc
Json vulkan_json(const VulkanState& vulkan);      // software_json.cc
Json system_json(const SystemState& system);      // surroundings_json.cc
Json container_json(const Container& container);
Json visibility_json(const Visibility& visibility);
Json device_node_json(const DeviceNode& node);
Json kernel_log_json(const KernelLog& log);
Json path_json(const GpuPath& path);
Json samples_json(const Samples& samples);  // samples_json.cc

// Writes [{...}, ...] under `key`, or nothing for an empty list.
template <class T, class ToJson>
void put_list(Json& doc, const char* key, const std::vector<T>& items, ToJson to_json) {
  if (items.empty()) return;
  Json& list = doc[key] = Json::array();
  for (const T& item : items) list.push_back(to_json(item));
}
// A part of which no source reported anything is absent, like a field.
inline void put_part(Json& doc, const char* key, Json part) {
  if (!part.empty()) doc[key] = std::move(part);
}
inline void put_address(Json& doc, const char* key, const std::optional<PciAddress>& address) {
  if (address) doc[key] = address->text();
}
inline void put_finite(Json& doc, const char* key, const std::optional<double>& value) {
  if (value) put(doc, key, number(*value));
}

}  // namespace gpuready
