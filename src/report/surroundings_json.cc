#include <string>

#include "report/json_parts.h"

namespace gpuready {
namespace {

// Permission bits as `ls` and `chmod` name them: "0660".
std::string octal(std::uint32_t mode) {
  std::string text;
  for (int shift = 9; shift >= 0; shift -= 3)
    text += static_cast<char>('0' + ((mode >> shift) & 7u));
  return text;
}

}  // namespace

Json system_json(const SystemState& system) {
  Json doc = Json::object();
  put(doc, "host_name", system.host_name);
  put(doc, "kernel_release", system.kernel_release);
  put(doc, "architecture", system.architecture);
  put(doc, "os_name", system.os_name);
  put(doc, "os_ids", system.os_ids);
  put(doc, "product_name", system.product_name);
  put(doc, "cpu_model", system.cpu_model);
  put(doc, "cpu_count", system.cpu_count);
  put(doc, "memory_total_bytes", system.memory_total_bytes);
  put(doc, "memory_available_bytes", system.memory_available_bytes);
  doc["effective_uid"] = system.effective_uid;
  put(doc, "secure_boot", system.secure_boot);
  put(doc, "selinux_enforcing", system.selinux_enforcing);
  put(doc, "user_namespace", system.user_namespace);
  put(doc, "kernel_command_line", system.kernel_command_line);
  put(doc, "iommu_active", system.iommu_active);
  put(doc, "hypervisor", system.hypervisor);
  doc["wsl2"] = system.wsl2;
  put_list(doc, "wsl_drivers", system.wsl_drivers,
           [](const std::string& name) { return Json(name); });
  put(doc, "jetson_release", system.jetson_release);
  if (!system.numa_cpus.empty()) {
    Json& nodes = doc["numa_cpus"] = Json::object();
    for (const auto& [node, cpus] : system.numa_cpus) nodes[std::to_string(node)] = cpus;
  }
  put(doc, "unix_seconds", system.unix_seconds);
  return doc;
}

Json container_json(const Container& container) {
  Json doc = Json::object();
  put(doc, "runtime", container.runtime);
  put(doc, "cgroup_version", container.cgroup_version);
  put(doc, "cgroup_path", container.cgroup_path);
  put(doc, "memory_limit_bytes", container.memory_limit_bytes);
  put(doc, "memory_used_bytes", container.memory_used_bytes);
  put_finite(doc, "cpu_limit", container.cpu_limit);
  return doc;
}

// A variable that is set but empty hides every GPU: it is told as "", not left out.
Json visibility_json(const Visibility& visibility) {
  Json doc = Json::object();
  put(doc, "cuda_visible_devices", visibility.cuda_visible_devices);
  put(doc, "nvidia_visible_devices", visibility.nvidia_visible_devices);
  put(doc, "rocr_visible_devices", visibility.rocr_visible_devices);
  put(doc, "hip_visible_devices", visibility.hip_visible_devices);
  put(doc, "gpu_device_ordinal", visibility.gpu_device_ordinal);
  put(doc, "ze_affinity_mask", visibility.ze_affinity_mask);
  put(doc, "hsa_override_gfx_version", visibility.hsa_override_gfx_version);
  put(doc, "nvidia_driver_capabilities", visibility.nvidia_driver_capabilities);
  put(doc, "cuda_device_order", visibility.cuda_device_order);
  return doc;
}

Json device_node_json(const DeviceNode& node) {
  Json doc = Json::object();
  doc["path"] = node.path;
  doc["exists"] = node.exists;
  if (node.mode) doc["mode"] = octal(*node.mode);
  put(doc, "uid", node.uid);
  put(doc, "gid", node.gid);
  put(doc, "device_major", node.device_major);
  put(doc, "device_minor", node.device_minor);
  put(doc, "openable", node.openable);
  put(doc, "open_error", node.open_error);
  put(doc, "nodev", node.nodev);
  return doc;
}

Json kernel_log_json(const KernelLog& log) {
  Json doc = Json::object();
  doc["readable"] = log.readable;
  put(doc, "error", log.error);
  put_list(doc, "lines", log.lines, [](const LogLine& line) {
    Json item = Json::object();
    item["text"] = line.text;
    put_finite(item, "seconds", line.seconds);
    if (line.left_out > 0) item["left_out"] = line.left_out;
    return item;
  });
  put_list(doc, "xids", log.xids, [](const XidEvent& event) {
    Json item = Json::object();
    item["code"] = event.code;
    put_address(item, "pci", event.pci);
    item["line"] = event.line;
    put_finite(item, "seconds", event.seconds);
    put(item, "source", event.source);
    if (event.left_out > 0) item["left_out"] = event.left_out;
    return item;
  });
  return doc;
}

Json path_json(const GpuPath& path) {
  Json doc = Json::object();
  doc["gpu_a"] = path.gpu_a;
  doc["gpu_b"] = path.gpu_b;
  doc["kind"] = to_string(path.kind);
  doc["links"] = path.links;
  put(doc, "p2p_status", path.p2p_status);
  return doc;
}

}  // namespace gpuready
