#include "machine/nvidia/nvml_gpu.h"

#include <array>

#include "base/text.h"
#include "base/vendor_codes.h"
#include "machine/nvidia/architectures.h"
#include "machine/sources.h"

namespace gpuready {
namespace {

template <std::size_t N>
std::optional<std::string> name_of(const std::array<const char*, N>& names,
                                   const std::optional<int>& value) {
  if (!value || *value < 0 || static_cast<std::size_t>(*value) >= N) return std::nullopt;
  return names[static_cast<std::size_t>(*value)];
}

// nvmlComputeMode_t
constexpr std::array kComputeModes{"default", "exclusive_thread", "prohibited",
                                   "exclusive_process"};
// nvmlGpuVirtualizationMode_t
constexpr std::array kVirtualizationModes{"none", "passthrough", "vgpu", "host_vgpu", "host_vsga"};
// NVML_GPU_FABRIC_STATE_*
constexpr std::array kFabricStates{"not_supported", "not_started", "in_progress", "completed"};
// nvmlDeviceGpuRecoveryAction_t
constexpr std::array kRecoveryActions{"none",      "gpu_reset",       "node_reboot",
                                      "drain_p2p", "drain_and_reset", "recover_imex_domain",
                                      "bus_reset", "system_reboot"};

void apply_identity(const DeviceAnswers& answers, Gpu& gpu) {
  if (const auto name = as_text(answers.value("nvmlDeviceGetName"))) {
    gpu.name = *name;
    gpu.name_source = "nvml";
  }
  take(gpu.uuid, as_text(answers.value("nvmlDeviceGetUUID")));
  take(gpu.serial, as_text(answers.value("nvmlDeviceGetSerial")));
  take(gpu.part_number, as_text(answers.value("nvmlDeviceGetBoardPartNumber")));
  take(gpu.minor_number, as_int(answers.value("nvmlDeviceGetMinorNumber")));
  take(gpu.vbios_version, as_text(answers.value("nvmlDeviceGetVbiosVersion")));
  take(gpu.firmware_version, as_text(answers.value("nvmlDeviceGetGspFirmwareVersion")));
  take(gpu.compute_capability, as_text(answers.value("nvmlDeviceGetCudaComputeCapability")));
  if (!gpu.compute_capability) return;
  take(gpu.architecture, nvidia_architecture_name(*gpu.compute_capability));
  const auto* architecture = find_nvidia_architecture(*gpu.compute_capability);
  const auto cores = as_int(answers.value("nvmlDeviceGetNumGpuCores"));
  // NVML counts cores, not multiprocessors; the CUDA driver's own number is better where it is
  // known.
  if (cores && *cores > 0) gpu.cores = cores;
  if (architecture != nullptr && cores && *cores > 0 &&
      *cores % architecture->cores_per_multiprocessor == 0)
    take_if_absent(gpu.multiprocessors,
                   std::optional(*cores / architecture->cores_per_multiprocessor));
}

void apply_memory(const DeviceAnswers& answers, Gpu& gpu) {
  const Json& memory =
      answers.first_value({"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"});
  take(gpu.memory.total_bytes, get_uint(memory, "total"));
  take(gpu.memory.free_bytes, get_uint(memory, "free"));
  take(gpu.memory.used_bytes, get_uint(memory, "used"));
  take(gpu.memory.reserved_bytes, get_uint(memory, "reserved"));
  take(gpu.memory.bar1_total_bytes,
       get_uint(answers.value("nvmlDeviceGetBAR1MemoryInfo"), "total"));
  take(gpu.memory.bus_width_bits, as_int(answers.value("nvmlDeviceGetMemoryBusWidth")));
}

void apply_clocks_and_power(const DeviceAnswers& answers, Gpu& gpu) {
  take(gpu.clocks.sm_mhz, as_int(answers.value("nvmlDeviceGetClockInfo", "sm")));
  take(gpu.clocks.memory_mhz, as_int(answers.value("nvmlDeviceGetClockInfo", "mem")));
  take(gpu.clocks.max_sm_mhz, as_int(answers.value("nvmlDeviceGetMaxClockInfo", "sm")));
  take(gpu.clocks.max_memory_mhz, as_int(answers.value("nvmlDeviceGetMaxClockInfo", "mem")));
  take(gpu.clock_event_reasons,
       as_u64(answers.first_value({"nvmlDeviceGetCurrentClocksEventReasons",
                                   "nvmlDeviceGetCurrentClocksThrottleReasons"})));
  take(gpu.power.draw_mw, as_u32(answers.value("nvmlDeviceGetPowerUsage")));
  take(gpu.power.limit_mw, as_u32(answers.first_value({"nvmlDeviceGetEnforcedPowerLimit",
                                                       "nvmlDeviceGetPowerManagementLimit"})));
  take(gpu.power.default_limit_mw,
       as_u32(answers.value("nvmlDeviceGetPowerManagementDefaultLimit")));
  take(gpu.power.max_limit_mw,
       as_u32(member(answers.value("nvmlDeviceGetPowerManagementLimitConstraints"), "max")));
  take(gpu.thermal.gpu_celsius,
       as_int(answers.first_value({"nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature"})));
  take(gpu.thermal.shutdown_celsius,
       as_int(answers.value("nvmlDeviceGetTemperatureThreshold", "shutdown")));
  take(gpu.thermal.slowdown_celsius,
       as_int(answers.value("nvmlDeviceGetTemperatureThreshold", "slowdown")));
  take(gpu.utilization_percent,
       as_int(member(answers.value("nvmlDeviceGetUtilizationRates"), "gpu")));
}

void apply_memory_errors(const DeviceAnswers& answers, Gpu& gpu) {
  const Json& mode = answers.value("nvmlDeviceGetEccMode");
  take(gpu.ecc.enabled_now, as_flag(member(mode, "current")));
  take(gpu.ecc.enabled_pending, as_flag(member(mode, "pending")));
  constexpr const char* kTotal = "nvmlDeviceGetTotalEccErrors";
  take(gpu.ecc.since_boot.corrected, as_u64(answers.value(kTotal, "corrected,volatile")));
  take(gpu.ecc.since_boot.uncorrected, as_u64(answers.value(kTotal, "uncorrected,volatile")));
  take(gpu.ecc.lifetime.corrected, as_u64(answers.value(kTotal, "corrected,aggregate")));
  take(gpu.ecc.lifetime.uncorrected, as_u64(answers.value(kTotal, "uncorrected,aggregate")));
  take(gpu.ecc.sram_threshold_exceeded,
       as_flag(member(answers.value("nvmlDeviceGetSramEccErrorStatus"), "threshold_exceeded")));

  const Json& rows = answers.value("nvmlDeviceGetRemappedRows");
  take(gpu.remapping.corrected, as_u32(member(rows, "corrected")));
  take(gpu.remapping.uncorrected, as_u32(member(rows, "uncorrected")));
  take(gpu.remapping.pending, as_flag(member(rows, "pending")));
  take(gpu.remapping.failed, as_flag(member(rows, "failed")));
  const Json& banks = answers.value("nvmlDeviceGetRowRemapperHistogram");
  take(gpu.remapping.banks_max, as_u32(member(banks, "max")));
  take(gpu.remapping.banks_high, as_u32(member(banks, "high")));
  take(gpu.remapping.banks_partial, as_u32(member(banks, "partial")));
  take(gpu.remapping.banks_low, as_u32(member(banks, "low")));
  take(gpu.remapping.banks_none, as_u32(member(banks, "none")));

  const auto retired = [&](const char* cause) {
    return as_u32(member(
        answers.first_value({"nvmlDeviceGetRetiredPages_v2", "nvmlDeviceGetRetiredPages"}, cause),
        "count"));
  };
  take(gpu.retired.single_bit, retired("single_bit"));
  take(gpu.retired.double_bit, retired("double_bit"));
  take(gpu.retired.pending, as_flag(answers.value("nvmlDeviceGetRetiredPagesPendingStatus")));
}

// A link has at least one lane, of the first generation.
std::optional<int> as_count(const Json& value) {
  const auto number = as_int(value);
  return number && *number > 0 ? number : std::nullopt;
}

void apply_bus(const DeviceAnswers& answers, Gpu& gpu) {
  take(gpu.link_now.generation, as_count(answers.value("nvmlDeviceGetCurrPcieLinkGeneration")));
  take(gpu.link_now.width, as_count(answers.value("nvmlDeviceGetCurrPcieLinkWidth")));
  take(gpu.link_max.generation, as_count(answers.value("nvmlDeviceGetMaxPcieLinkGeneration")));
  take(gpu.link_max.width, as_count(answers.value("nvmlDeviceGetMaxPcieLinkWidth")));
  take(gpu.pcie_errors.replays, as_u64(answers.value("nvmlDeviceGetPcieReplayCounter")));
  take_if_absent(gpu.cpu_affinity, as_text(answers.value("nvmlDeviceGetCpuAffinity")));
  // One node, or nothing: a set of nodes is no place.
  const auto node = as_text(answers.value("nvmlDeviceGetMemoryAffinity"));
  if (node)
    take_if_absent(gpu.numa_node,
                   as_int(Json(parse_int(*node).value_or(-1))).and_then([](int value) {
                     return value < 0 ? std::nullopt : std::optional(value);
                   }));
}

void apply_modes(const DeviceAnswers& answers, Gpu& gpu) {
  take(gpu.persistence, as_flag(answers.value("nvmlDeviceGetPersistenceMode")));
  const Json& mig = answers.value("nvmlDeviceGetMigMode");
  take(gpu.mig_enabled, as_flag(member(mig, "current")));
  take(gpu.mig_pending, as_flag(member(mig, "pending")));
  take(gpu.compute_mode, name_of(kComputeModes, as_int(answers.value("nvmlDeviceGetComputeMode"))));
  take(gpu.virtualization,
       name_of(kVirtualizationModes, as_int(answers.value("nvmlDeviceGetVirtualizationMode"))));
  if (const auto* inforom = answers.find("nvmlDeviceValidateInforom");
      inforom != nullptr && !inforom->missing) {
    constexpr int kCorrupted = 14;
    if (inforom->code == 0) gpu.inforom_valid = true;
    if (inforom->code == kCorrupted) gpu.inforom_valid = false;
  }

  const Json& license = answers.value("nvmlDeviceGetGridLicensableFeatures_v4");
  if (as_flag(member(license, "supported")) == true) {
    gpu.vgpu_license = "unlicensed";
    for (const auto& feature : member(license, "features"))
      if (as_flag(member(feature, "state")) == true && as_flag(member(feature, "enabled")) == true)
        gpu.vgpu_license = "licensed";
  }
}

void apply_fabric(const DeviceAnswers& answers, Gpu& gpu) {
  constexpr const char* kVersioned = "nvmlDeviceGetGpuFabricInfoV";
  const Json* info = &answers.value(kVersioned, "v3");
  if (info->is_null()) info = &answers.value(kVersioned, "v2");
  if (info->is_null()) info = &answers.first_value({kVersioned, "nvmlDeviceGetGpuFabricInfo"});
  if (info->is_null()) return;
  take(gpu.fabric.state, name_of(kFabricStates, as_int(member(*info, "state"))));
  take(gpu.fabric.health_mask, as_u32(member(*info, "health_mask")));
  if (gpu.fabric.state != "completed") return;  // before, the rest means nothing
  take(gpu.fabric.status, as_int(member(*info, "status")));
  take(gpu.fabric.clique_id, as_int(member(*info, "clique_id")));
  take(gpu.fabric.cluster_uuid, as_text(member(*info, "cluster_uuid")));
}

// {"82":{"code":0,"value":45}}, or for one field the plain value: nvmlDeviceGetFieldValues(0,230).
Json field_value(const DeviceAnswers& answers, std::uint32_t number) {
  const std::string field = std::to_string(number);
  if (const Json& plain = answers.value("nvmlDeviceGetFieldValues", field); !plain.is_null())
    return plain;
  const std::string prefix = "nvmlDeviceGetFieldValues(" + answers.id();
  const auto& calls = answers.document().calls;
  for (auto it = calls.lower_bound(prefix); it != calls.end() && it->first.starts_with(prefix);
       ++it) {
    const char after = it->first.size() > prefix.size() ? it->first[prefix.size()] : '\0';
    if ((after != ',' && after != ')') || !it->second.ok()) continue;
    const Json& entry = member(it->second.value, field);
    if (get_int(entry, "code") == 0) return member(entry, "value");
  }
  return nullptr;
}

void apply_fields(const DeviceAnswers& answers, Gpu& gpu) {
  // 0 is reported by boards whose memory has no sensor.
  if (const auto celsius = as_int(field_value(answers, nvml_field::kMemoryTemperature));
      celsius && *celsius > 0)
    gpu.thermal.memory_celsius = celsius;
  take_if_absent(gpu.ecc.enabled_now, as_flag(field_value(answers, nvml_field::kEccNow)));
  take_if_absent(gpu.ecc.enabled_pending, as_flag(field_value(answers, nvml_field::kEccPending)));
  take(gpu.recovery_action,
       name_of(kRecoveryActions, as_int(field_value(answers, nvml_field::kRecoveryAction))));
  take_if_absent(gpu.pcie_errors.replays, as_u64(field_value(answers, nvml_field::kPcieReplays)));
  take_if_absent(gpu.pcie_errors.correctable,
                 as_u64(field_value(answers, nvml_field::kPcieCorrectable)));
  take_if_absent(gpu.pcie_errors.nonfatal, as_u64(field_value(answers, nvml_field::kPcieNonfatal)));
  take_if_absent(gpu.pcie_errors.fatal, as_u64(field_value(answers, nvml_field::kPcieFatal)));
}

}  // namespace

void apply_nvml_device(const DeviceAnswers& answers, Gpu& gpu) {
  apply_identity(answers, gpu);
  apply_memory(answers, gpu);
  apply_clocks_and_power(answers, gpu);
  apply_memory_errors(answers, gpu);
  apply_bus(answers, gpu);
  apply_modes(answers, gpu);
  apply_fabric(answers, gpu);
  apply_fields(answers, gpu);
}

}  // namespace gpuready
