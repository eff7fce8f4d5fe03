#include "report/json_parts.h"

namespace gpuready {
namespace {

Json memory_json(const GpuMemory& memory) {
  Json doc = Json::object();
  put(doc, "total_bytes", memory.total_bytes);
  put(doc, "free_bytes", memory.free_bytes);
  put(doc, "used_bytes", memory.used_bytes);
  put(doc, "reserved_bytes", memory.reserved_bytes);
  put(doc, "bar1_total_bytes", memory.bar1_total_bytes);
  put(doc, "bus_width_bits", memory.bus_width_bits);
  return doc;
}

Json clocks_json(const GpuClocks& clocks) {
  Json doc = Json::object();
  put(doc, "sm_mhz", clocks.sm_mhz);
  put(doc, "memory_mhz", clocks.memory_mhz);
  put(doc, "max_sm_mhz", clocks.max_sm_mhz);
  put(doc, "max_memory_mhz", clocks.max_memory_mhz);
  return doc;
}

Json power_json(const GpuPower& power) {
  Json doc = Json::object();
  put(doc, "draw_mw", power.draw_mw);
  put(doc, "limit_mw", power.limit_mw);
  put(doc, "default_limit_mw", power.default_limit_mw);
  put(doc, "max_limit_mw", power.max_limit_mw);
  return doc;
}

Json thermal_json(const GpuThermal& thermal) {
  Json doc = Json::object();
  put(doc, "gpu_celsius", thermal.gpu_celsius);
  put(doc, "memory_celsius", thermal.memory_celsius);
  put(doc, "slowdown_celsius", thermal.slowdown_celsius);
  put(doc, "shutdown_celsius", thermal.shutdown_celsius);
  return doc;
}

Json ecc_counts_json(const EccCounts& counts) {
  Json doc = Json::object();
  put(doc, "corrected", counts.corrected);
  put(doc, "uncorrected", counts.uncorrected);
  return doc;
}

Json ecc_json(const GpuEcc& ecc) {
  Json doc = Json::object();
  put(doc, "enabled_now", ecc.enabled_now);
  put(doc, "enabled_pending", ecc.enabled_pending);
  put_part(doc, "since_boot", ecc_counts_json(ecc.since_boot));
  put_part(doc, "lifetime", ecc_counts_json(ecc.lifetime));
  put(doc, "sram_threshold_exceeded", ecc.sram_threshold_exceeded);
  return doc;
}

Json remapping_json(const RowRemapping& remapping) {
  Json doc = Json::object();
  put(doc, "corrected", remapping.corrected);
  put(doc, "uncorrected", remapping.uncorrected);
  put(doc, "pending", remapping.pending);
  put(doc, "failed", remapping.failed);
  put(doc, "banks_max", remapping.banks_max);
  put(doc, "banks_high", remapping.banks_high);
  put(doc, "banks_partial", remapping.banks_partial);
  put(doc, "banks_low", remapping.banks_low);
  put(doc, "banks_none", remapping.banks_none);
  return doc;
}

Json retired_json(const RetiredPages& retired) {
  Json doc = Json::object();
  put(doc, "single_bit", retired.single_bit);
  put(doc, "double_bit", retired.double_bit);
  put(doc, "pending", retired.pending);
  return doc;
}

Json mig_json(const MigInstance& instance) {
  Json doc = Json::object();
  put(doc, "uuid", instance.uuid);
  put(doc, "name", instance.name);
  put(doc, "gpu_instance_id", instance.gpu_instance_id);
  put(doc, "compute_instance_id", instance.compute_instance_id);
  put(doc, "memory_total_bytes", instance.memory_total_bytes);
  put(doc, "memory_free_bytes", instance.memory_free_bytes);
  put(doc, "multiprocessors", instance.multiprocessors);
  return doc;
}

Json fabric_json(const GpuFabric& fabric) {
  Json doc = Json::object();
  put(doc, "state", fabric.state);
  put(doc, "status", fabric.status);
  put(doc, "cluster_uuid", fabric.cluster_uuid);
  put(doc, "clique_id", fabric.clique_id);
  put(doc, "health_mask", fabric.health_mask);
  return doc;
}

Json nvlink_json(const NvLink& link) {
  Json doc = Json::object();
  doc["link"] = link.link;
  put(doc, "up", link.up);
  put(doc, "version", link.version);
  put_address(doc, "remote", link.remote);
  put(doc, "remote_kind", link.remote_kind);
  put(doc, "replay_errors", link.replay_errors);
  put(doc, "recovery_errors", link.recovery_errors);
  put(doc, "crc_errors", link.crc_errors);
  return doc;
}

Json process_json(const GpuProcess& process) {
  Json doc = Json::object();
  doc["pid"] = process.pid;
  put(doc, "name", process.name);
  put(doc, "used_bytes", process.used_bytes);
  put(doc, "kind", process.kind);
  return doc;
}

Json cuda_limits_json(const CudaLimits& cuda) {
  Json doc = Json::object();
  doc["ordinal"] = cuda.ordinal;
  put(doc, "multiprocessors", cuda.multiprocessors);
  put(doc, "max_threads_per_block", cuda.max_threads_per_block);
  put(doc, "max_threads_per_multiprocessor", cuda.max_threads_per_multiprocessor);
  put(doc, "max_blocks_per_multiprocessor", cuda.max_blocks_per_multiprocessor);
  put(doc, "warp_size", cuda.warp_size);
  put(doc, "registers_per_multiprocessor", cuda.registers_per_multiprocessor);
  put(doc, "max_grid_x", cuda.max_grid_x);
  put(doc, "max_block_x", cuda.max_block_x);
  put(doc, "shared_memory_per_block_bytes", cuda.shared_memory_per_block_bytes);
  put(doc, "shared_memory_per_block_optin_bytes", cuda.shared_memory_per_block_optin_bytes);
  put(doc, "shared_memory_per_multiprocessor_bytes", cuda.shared_memory_per_multiprocessor_bytes);
  put(doc, "l2_cache_bytes", cuda.l2_cache_bytes);
  put(doc, "total_memory_bytes", cuda.total_memory_bytes);
  put(doc, "clock_khz", cuda.clock_khz);
  put(doc, "memory_clock_khz", cuda.memory_clock_khz);
  put(doc, "memory_bus_width_bits", cuda.memory_bus_width_bits);
  put(doc, "copy_engines", cuda.copy_engines);
  put(doc, "integrated", cuda.integrated);
  put(doc, "cooperative_launch", cuda.cooperative_launch);
  put(doc, "managed_memory", cuda.managed_memory);
  put(doc, "unified_addressing", cuda.unified_addressing);
  put(doc, "ecc_enabled", cuda.ecc_enabled);
  put(doc, "tcc_driver", cuda.tcc_driver);
  put(doc, "memory_pools", cuda.memory_pools);
  put(doc, "compression", cuda.compression);
  put(doc, "multicast", cuda.multicast);
  put(doc, "compute_mode", cuda.compute_mode);
  return doc;
}

void put_identity(Json& doc, const Gpu& gpu) {
  doc["index"] = gpu.index;
  doc["vendor"] = to_string(gpu.vendor);
  put_address(doc, "pci", gpu.pci);
  put(doc, "name", gpu.name);
  put(doc, "name_source", gpu.name_source);
  put(doc, "uuid", gpu.uuid);
  put(doc, "serial", gpu.serial);
  put(doc, "part_number", gpu.part_number);
  put(doc, "vbios_version", gpu.vbios_version);
  put(doc, "firmware_version", gpu.firmware_version);
  put(doc, "nvml_index", gpu.nvml_index);
  put(doc, "minor_number", gpu.minor_number);
  put(doc, "cuda_ordinal", gpu.cuda_ordinal);
  put(doc, "compute_capability", gpu.compute_capability);
  put(doc, "gfx_target", gpu.gfx_target);
  put(doc, "architecture", gpu.architecture);
  put(doc, "multiprocessors", gpu.multiprocessors);
  doc["integrated"] = gpu.integrated;
  doc["suspended"] = gpu.suspended;
  doc["faked"] = gpu.faked;
  put(doc, "excluded", gpu.excluded);
}

void put_modes(Json& doc, const Gpu& gpu) {
  put(doc, "persistence", gpu.persistence);
  put(doc, "mig_enabled", gpu.mig_enabled);
  put(doc, "mig_pending", gpu.mig_pending);
  put_list(doc, "mig", gpu.mig, mig_json);
  put(doc, "compute_mode", gpu.compute_mode);
  put(doc, "virtualization", gpu.virtualization);
  put(doc, "vgpu_license", gpu.vgpu_license);
  put(doc, "confidential_compute", gpu.confidential_compute);
  put(doc, "confidential_compute_ready", gpu.confidential_compute_ready);
  put(doc, "clock_event_reasons", gpu.clock_event_reasons);
  put(doc, "recovery_action", gpu.recovery_action);
}

}  // namespace

Json gpu_json(const Gpu& gpu) {
  Json doc = Json::object();
  put_identity(doc, gpu);
  put_part(doc, "memory", memory_json(gpu.memory));
  put_part(doc, "clocks", clocks_json(gpu.clocks));
  put_part(doc, "power", power_json(gpu.power));
  put_part(doc, "thermal", thermal_json(gpu.thermal));
  put(doc, "utilization_percent", gpu.utilization_percent);
  put_part(doc, "ecc", ecc_json(gpu.ecc));
  put_part(doc, "remapping", remapping_json(gpu.remapping));
  put_part(doc, "retired", retired_json(gpu.retired));
  put_part(doc, "link_now", link_json(gpu.link_now));
  put_part(doc, "link_max", link_json(gpu.link_max));
  put_part(doc, "pcie_errors", pcie_errors_json(gpu.pcie_errors));
  put_modes(doc, gpu);
  put_part(doc, "fabric", fabric_json(gpu.fabric));
  put_list(doc, "nvlinks", gpu.nvlinks, nvlink_json);
  put_list(doc, "xgmi_peers", gpu.xgmi_peers, [](const PciAddress& peer) { return peer.text(); });
  put_list(doc, "processes", gpu.processes, process_json);
  put(doc, "numa_node", gpu.numa_node);
  put(doc, "cpu_affinity", gpu.cpu_affinity);
  put(doc, "inforom_valid", gpu.inforom_valid);
  if (gpu.cuda) doc["cuda"] = cuda_limits_json(*gpu.cuda);
  put(doc, "visible_to_cuda", gpu.visible_to_cuda);
  put_list(doc, "errors", gpu.errors, api_status_json);
  put_list(doc, "sources", gpu.sources, [](const std::string& source) { return source; });
  put(doc, "driver", gpu.driver);
  if (!gpu.ras_errors.empty()) doc["ras_errors"] = gpu.ras_errors;
  return doc;
}

}  // namespace gpuready
