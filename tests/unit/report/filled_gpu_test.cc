#include "filled.h"

namespace gpuready::samples {
namespace {

GpuMemory filled_gpu_memory() {
  GpuMemory out;
  out.total_bytes = 1082;
  out.free_bytes = 1083;
  out.used_bytes = 1084;
  out.reserved_bytes = 1085;
  out.bar1_total_bytes = 1086;
  out.bus_width_bits = 1087;
  return out;
}

GpuClocks filled_gpu_clocks() {
  GpuClocks out;
  out.sm_mhz = 1088;
  out.memory_mhz = 1089;
  out.max_sm_mhz = 1090;
  out.max_memory_mhz = 1091;
  return out;
}

GpuPower filled_gpu_power() {
  GpuPower out;
  out.draw_mw = 1092;
  out.limit_mw = 1093;
  out.default_limit_mw = 1094;
  out.max_limit_mw = 1095;
  return out;
}

GpuThermal filled_gpu_thermal() {
  GpuThermal out;
  out.gpu_celsius = 1096;
  out.memory_celsius = 1097;
  out.slowdown_celsius = 1098;
  out.shutdown_celsius = 1099;
  return out;
}

EccCounts filled_ecc_counts() {
  EccCounts out;
  out.corrected = 1101;
  out.uncorrected = 1102;
  return out;
}

GpuEcc filled_gpu_ecc() {
  GpuEcc out;
  out.enabled_now = true;
  out.enabled_pending = true;
  out.since_boot = filled_ecc_counts();
  out.lifetime = filled_ecc_counts();
  out.sram_threshold_exceeded = true;
  return out;
}

RowRemapping filled_row_remapping() {
  RowRemapping out;
  out.corrected = 1103;
  out.uncorrected = 1104;
  out.pending = true;
  out.failed = true;
  out.banks_max = 1105;
  out.banks_high = 1106;
  out.banks_partial = 1107;
  out.banks_low = 1108;
  out.banks_none = 1109;
  return out;
}

RetiredPages filled_retired_pages() {
  RetiredPages out;
  out.single_bit = 1110;
  out.double_bit = 1111;
  out.pending = true;
  return out;
}

MigInstance filled_mig_instance() {
  MigInstance out;
  out.uuid = "text 1112";
  out.name = "text 1113";
  out.gpu_instance_id = 1114;
  out.compute_instance_id = 1115;
  out.memory_total_bytes = 1116;
  out.memory_free_bytes = 1117;
  out.multiprocessors = 1118;
  return out;
}

GpuFabric filled_gpu_fabric() {
  GpuFabric out;
  out.state = "text 1124";
  out.status = 1125;
  out.cluster_uuid = "text 1126";
  out.clique_id = 1127;
  out.health_mask = 1128;
  return out;
}

NvLink filled_nv_link() {
  NvLink out;
  out.link = 1129;
  out.up = true;
  out.version = 1130;
  out.remote = PciAddress{1131, 132, 17, 6};
  out.remote_kind = "text 1135";
  out.replay_errors = 1136;
  out.recovery_errors = 1137;
  out.crc_errors = 1138;
  return out;
}

GpuProcess filled_gpu_process() {
  GpuProcess out;
  out.pid = 1143;
  out.name = "text 1144";
  out.used_bytes = 1145;
  out.kind = "text 1146";
  return out;
}

CudaLimits filled_cuda_limits() {
  CudaLimits out;
  out.ordinal = 1149;
  out.multiprocessors = 1150;
  out.max_threads_per_block = 1151;
  out.max_threads_per_multiprocessor = 1152;
  out.max_blocks_per_multiprocessor = 1153;
  out.warp_size = 1154;
  out.registers_per_multiprocessor = 1155;
  out.max_grid_x = 1156;
  out.max_block_x = 1157;
  out.shared_memory_per_block_bytes = 1158;
  out.shared_memory_per_block_optin_bytes = 1159;
  out.shared_memory_per_multiprocessor_bytes = 1160;
  out.l2_cache_bytes = 1161;
  out.total_memory_bytes = 1162;
  out.clock_khz = 1163;
  out.memory_clock_khz = 1164;
  out.memory_bus_width_bits = 1165;
  out.copy_engines = 1166;
  out.integrated = true;
  out.cooperative_launch = true;
  out.managed_memory = true;
  out.unified_addressing = true;
  out.ecc_enabled = true;
  out.tcc_driver = true;
  out.memory_pools = true;
  out.compression = true;
  out.multicast = true;
  out.compute_mode = 1167;
  return out;
}

}  // namespace

PcieLink filled_pcie_link() {
  PcieLink out;
  out.generation = 1051;
  out.width = 1052;
  return out;
}

PcieErrors filled_pcie_errors() {
  PcieErrors out;
  out.correctable = 1053;
  out.nonfatal = 1054;
  out.fatal = 1055;
  out.replays = 1056;
  return out;
}

ApiStatus filled_api_status() {
  ApiStatus out;
  out.call = "text 1168";
  out.code = 1169;
  out.name = "text 1170";
  return out;
}

Gpu filled_gpu() {
  Gpu out;
  out.index = 1063;
  out.vendor = Vendor::amd;
  out.pci = PciAddress{1064, 65, 12, 3};
  out.name = "text 1068";
  out.name_source = "text 1069";
  out.uuid = "text 1070";
  out.serial = "text 1071";
  out.part_number = "text 1072";
  out.vbios_version = "text 1073";
  out.firmware_version = "text 1074";
  out.nvml_index = 1075;
  out.minor_number = 1076;
  out.cuda_ordinal = 1077;
  out.compute_capability = "text 1078";
  out.gfx_target = "text 1079";
  out.architecture = "text 1080";
  out.multiprocessors = 1081;
  out.integrated = true;
  out.suspended = true;
  out.faked = true;
  out.excluded = true;
  out.memory = filled_gpu_memory();
  out.clocks = filled_gpu_clocks();
  out.power = filled_gpu_power();
  out.thermal = filled_gpu_thermal();
  out.utilization_percent = 1100;
  out.ecc = filled_gpu_ecc();
  out.remapping = filled_row_remapping();
  out.retired = filled_retired_pages();
  out.link_now = filled_pcie_link();
  out.link_max = filled_pcie_link();
  out.pcie_errors = filled_pcie_errors();
  out.persistence = true;
  out.mig_enabled = true;
  out.mig_pending = true;
  out.mig = {filled_mig_instance()};
  out.compute_mode = "text 1119";
  out.virtualization = "text 1120";
  out.vgpu_license = "text 1121";
  out.confidential_compute = true;
  out.confidential_compute_ready = true;
  out.clock_event_reasons = 1122;
  out.recovery_action = "text 1123";
  out.fabric = filled_gpu_fabric();
  out.nvlinks = {filled_nv_link()};
  out.xgmi_peers = {PciAddress{1139, 140, 25, 6}};
  out.xgmi_peers = {PciAddress{1999, 199, 29, 7}};
  out.processes = {filled_gpu_process()};
  out.numa_node = 1147;
  out.cpu_affinity = "text 1148";
  out.inforom_valid = true;
  out.cuda = filled_cuda_limits();
  out.visible_to_cuda = true;
  out.errors = {filled_api_status()};
  out.sources = {"text 1171"};
  out.driver = "text 1172";
  out.ras_errors = {{"text 1173", 1174}};
  return out;
}

}  // namespace gpuready::samples
