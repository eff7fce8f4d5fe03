#include "base/units.h"
#include "report/json_parts.h"

namespace gpuready {
namespace {

Json vulkan_device_json(const VulkanDevice& device) {
  Json doc = Json::object();
  put(doc, "name", device.name);
  put(doc, "type", device.type);
  doc["software"] = device.software();
  put(doc, "uuid", device.uuid);
  put_address(doc, "pci", device.pci);
  put(doc, "driver_name", device.driver_name);
  put(doc, "driver_version", device.driver_version);
  put(doc, "api_version", device.api_version);
  put(doc, "memory_bytes", device.memory_bytes);
  doc["vendor_id"] = format_hex(device.vendor_id, 4);
  doc["device_id"] = format_hex(device.device_id, 4);
  return doc;
}

void put_status(Json& doc, const char* key, const std::optional<ApiStatus>& status) {
  if (status) doc[key] = api_status_json(*status);
}

const auto kSame = [](const std::string& text) { return text; };

}  // namespace

Json api_status_json(const ApiStatus& status) {
  Json doc = Json::object();
  doc["call"] = status.call;
  doc["code"] = status.code;
  put(doc, "name", status.name);
  return doc;
}

Json library_json(const LibraryFile& library) {
  Json doc = Json::object();
  put(doc, "name", library.name);
  put(doc, "path", library.path);
  put(doc, "real_path", library.real_path);
  put(doc, "version", library.version);
  return doc;
}

Json toolkit_json(const Toolkit& toolkit) {
  Json doc = Json::object();
  put(doc, "kind", toolkit.kind);
  put(doc, "version", toolkit.version);
  put(doc, "path", toolkit.path);
  doc["on_path"] = toolkit.on_path;
  return doc;
}

Json nvidia_json(const NvidiaDriver& driver) {
  Json doc = Json::object();
  doc["module_loaded"] = driver.module_loaded;
  doc["uvm_loaded"] = driver.uvm_loaded;
  put(doc, "module_version", driver.module_version);
  put(doc, "module_flavour", driver.module_flavour);
  if (!driver.params.empty()) doc["params"] = driver.params;
  put_list(doc, "libraries", driver.libraries, library_json);
  put(doc, "nvml_library", driver.nvml_library);
  put(doc, "cuda_library", driver.cuda_library);
  put(doc, "driver_version", driver.driver_version);
  put(doc, "cuda_version", driver.cuda_version);
  put_status(doc, "nvml_start", driver.nvml_start);
  put_status(doc, "cuda_start", driver.cuda_start);
  put(doc, "nvml_outcome", driver.nvml_outcome);
  put(doc, "cuda_outcome", driver.cuda_outcome);
  put(doc, "nvml_stopped_in", driver.nvml_stopped_in);
  put(doc, "cuda_stopped_in", driver.cuda_stopped_in);
  put(doc, "nvml_device_count", driver.nvml_device_count);
  put(doc, "cuda_device_count", driver.cuda_device_count);
  put(doc, "fabric_manager", driver.fabric_manager);
  put(doc, "persistence_daemon", driver.persistence_daemon);
  return doc;
}

Json amd_json(const AmdDriver& driver) {
  Json doc = Json::object();
  doc["module_loaded"] = driver.module_loaded;
  doc["kfd_present"] = driver.kfd_present;
  put(doc, "module_version", driver.module_version);
  put(doc, "rocm_version", driver.rocm_version);
  put_status(doc, "start", driver.start);
  put(doc, "outcome", driver.outcome);
  put(doc, "stopped_in", driver.stopped_in);
  put_list(doc, "rocblas_targets", driver.rocblas_targets, kSame);
  return doc;
}

Json intel_json(const IntelDriver& driver) {
  Json doc = Json::object();
  doc["i915_loaded"] = driver.i915_loaded;
  doc["xe_loaded"] = driver.xe_loaded;
  return doc;
}

Json apple_json(const AppleState& apple) {
  Json doc = Json::object();
  put(doc, "chip", apple.chip);
  put(doc, "metal", apple.metal);
  return doc;
}

Json vulkan_json(const VulkanState& vulkan) {
  Json doc = Json::object();
  put(doc, "outcome", vulkan.outcome);
  put_status(doc, "start", vulkan.start);
  put(doc, "loader_version", vulkan.loader_version);
  put_list(doc, "icd_files", vulkan.icd_files, kSame);
  put_list(doc, "devices", vulkan.devices, vulkan_device_json);
  return doc;
}

}  // namespace gpuready
