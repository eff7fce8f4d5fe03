#include "filled.h"

namespace gpuready::samples {
namespace {

SystemState filled_system_state() {
  SystemState out;
  out.host_name = "text 1006";
  out.kernel_release = "text 1007";
  out.architecture = "text 1008";
  out.os_name = "text 1009";
  out.os_ids = "text 1009a";
  out.product_name = "text 1010";
  out.cpu_model = "text 1011";
  out.cpu_count = 1012;
  out.memory_total_bytes = 1013;
  out.memory_available_bytes = 1014;
  out.effective_uid = 1015;
  out.secure_boot = true;
  out.selinux_enforcing = true;
  out.user_namespace = true;
  out.kernel_command_line = "text 1016";
  out.iommu_active = true;
  out.hypervisor = "text 1017";
  out.wsl2 = true;
  out.wsl_drivers = {"text 1246"};
  out.jetson_release = "text 1018";
  out.numa_cpus = {{1019, "text 1020"}};
  out.unix_seconds = 1021;
  return out;
}

Container filled_container() {
  Container out;
  out.runtime = "text 1022";
  out.cgroup_version = "text 1023";
  out.cgroup_path = "text 1024";
  out.memory_limit_bytes = 1025;
  out.memory_used_bytes = 1026;
  out.cpu_limit = 1027.5;
  return out;
}

Visibility filled_visibility() {
  Visibility out;
  out.cuda_visible_devices = "text 1028";
  out.nvidia_visible_devices = "text 1029";
  out.rocr_visible_devices = "text 1030";
  out.hip_visible_devices = "text 1031";
  out.gpu_device_ordinal = "text 1032";
  out.ze_affinity_mask = "text 1033";
  out.hsa_override_gfx_version = "text 1033a";
  out.nvidia_driver_capabilities = "text 1034";
  out.cuda_device_order = "text 1035";
  return out;
}

PciDevice filled_pci_device() {
  PciDevice out;
  out.address = PciAddress{1036, 37, 15, 7};
  out.vendor_id = 1040;
  out.device_id = 1041;
  out.subsystem_vendor_id = 1042;
  out.subsystem_device_id = 1043;
  out.class_code = 1044;
  out.driver = "text 1045";
  out.name = "text 1046";
  out.runtime_status = "text 1047";
  out.numa_node = 1048;
  out.local_cpus = "text 1049";
  out.iommu_group = 1050;
  out.boot_vga = true;
  out.link_now = filled_pcie_link();
  out.link_max = filled_pcie_link();
  out.port_link_now = filled_pcie_link();
  out.port_link_max = filled_pcie_link();
  out.errors = filled_pcie_errors();
  out.path = {PciAddress{1057, 58, 5, 4}};
  out.host_bridge = "text 1061";
  out.bar_sizes_bytes = {1062};
  out.is_gpu = true;
  return out;
}

GpuPath filled_gpu_path() {
  GpuPath out;
  out.gpu_a = 1175;
  out.gpu_b = 1176;
  out.kind = PathKind::xgmi;
  out.links = 1177;
  out.p2p_status = "text 1178";
  return out;
}

LibraryFile filled_library_file() {
  LibraryFile out;
  out.name = "text 1183";
  out.path = "text 1184";
  out.real_path = "text 1185";
  out.version = "text 1186";
  return out;
}

NvidiaDriver filled_nvidia_driver() {
  NvidiaDriver out;
  out.module_loaded = true;
  out.uvm_loaded = true;
  out.module_version = "text 1179";
  out.module_flavour = "text 1180";
  out.params = {{"text 1181", "text 1182"}};
  out.libraries = {filled_library_file()};
  out.nvml_library = "text 1187";
  out.cuda_library = "text 1188";
  out.driver_version = "text 1189";
  out.cuda_version = "text 1190";
  out.nvml_start = filled_api_status();
  out.cuda_start = filled_api_status();
  out.nvml_outcome = "text 1191";
  out.cuda_outcome = "text 1192";
  out.nvml_stopped_in = "text 1193";
  out.cuda_stopped_in = "text 1194";
  out.nvml_device_count = 1195;
  out.cuda_device_count = 1196;
  out.fabric_manager = "text 1197";
  out.persistence_daemon = "text 1198";
  return out;
}

AmdDriver filled_amd_driver() {
  AmdDriver out;
  out.module_loaded = true;
  out.kfd_present = true;
  out.module_version = "text 1199";
  out.rocm_version = "text 1200";
  out.start = filled_api_status();
  out.outcome = "text 1201";
  out.stopped_in = "text 1202";
  out.rocblas_targets = {"text 1203"};
  return out;
}

IntelDriver filled_intel_driver() {
  IntelDriver out;
  out.i915_loaded = true;
  out.xe_loaded = true;
  return out;
}

AppleState filled_apple_state() {
  AppleState out;
  out.chip = "text 1204";
  out.metal = true;
  return out;
}

VulkanDevice filled_vulkan_device() {
  VulkanDevice out;
  out.name = "text 1208";
  out.type = "text 1209";
  out.uuid = "text 1210";
  out.pci = PciAddress{1211, 12, 4, 6};
  out.driver_name = "text 1215";
  out.driver_version = "text 1216";
  out.api_version = "text 1217";
  out.memory_bytes = 1218;
  out.vendor_id = 1219;
  out.device_id = 1220;
  return out;
}

VulkanState filled_vulkan_state() {
  VulkanState out;
  out.outcome = "text 1205";
  out.start = filled_api_status();
  out.loader_version = "text 1206";
  out.icd_files = {"text 1207"};
  out.devices = {filled_vulkan_device()};
  return out;
}

Toolkit filled_toolkit() {
  Toolkit out;
  out.kind = "text 1221";
  out.version = "text 1222";
  out.path = "text 1223";
  out.on_path = true;
  return out;
}

DeviceNode filled_device_node() {
  DeviceNode out;
  out.path = "text 1224";
  out.exists = true;
  out.mode = 1225;
  out.uid = 1226;
  out.gid = 1227;
  out.device_major = 1228;
  out.device_minor = 1229;
  out.openable = true;
  out.open_error = "text 1230";
  out.nodev = true;
  return out;
}

LogLine filled_log_line() {
  LogLine out;
  out.text = "text 1232";
  out.seconds = 1233.5;
  out.left_out = 1244;
  return out;
}

XidEvent filled_xid_event() {
  XidEvent out;
  out.code = 1234;
  out.pci = PciAddress{1235, 36, 28, 6};
  out.line = "text 1239";
  out.seconds = 1240.5;
  out.source = "text 1241";
  out.left_out = 1245;
  return out;
}

KernelLog filled_kernel_log() {
  KernelLog out;
  out.readable = true;
  out.error = "text 1231";
  out.lines = {filled_log_line()};
  out.xids = {filled_xid_event()};
  return out;
}

Unseen filled_unseen() {
  Unseen out;
  out.what = "text 1242";
  out.why = "text 1243";
  return out;
}

}  // namespace

Machine filled_machine() {
  Machine out;
  out.source = "text 1004";
  out.full = true;
  out.fakes = {"text 1005"};
  out.system = filled_system_state();
  out.container = filled_container();
  out.visibility = filled_visibility();
  out.pci = {filled_pci_device()};
  out.gpus = {filled_gpu()};
  out.paths = {filled_gpu_path()};
  out.nvidia = filled_nvidia_driver();
  out.amd = filled_amd_driver();
  out.intel = filled_intel_driver();
  out.apple = filled_apple_state();
  out.vulkan = filled_vulkan_state();
  out.toolkits = {filled_toolkit()};
  out.libraries = {filled_library_file()};
  out.nodes = {filled_device_node()};
  out.kernel_log = filled_kernel_log();
  out.unseen = {filled_unseen()};
  out.timings_ms = {{"text 1244", 1245.5}};
  return out;
}

}  // namespace gpuready::samples
