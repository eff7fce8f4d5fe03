#include "probe/nvml_queries.h"

#include "probe/nvml_adapters.h"
#include "probe/nvml_session.h"

namespace gpuready::nvml {
namespace {

using enum Level;

// Numbers of the parameters: NVML API reference, chapters "Device Enums" and "Device Queries".
// nvmlClockType_t
constexpr int kClockSm = 1, kClockMemory = 2;
// nvmlTemperatureThresholds_t
constexpr int kShutdown = 0, kSlowdown = 1, kMemoryMax = 2;
// nvmlPageRetirementCause_t
constexpr int kSingleBit = 0, kDoubleBit = 1;
// nvmlMemoryErrorType_t and nvmlEccCounterType_t, packed for ecc_total()
constexpr int kCorrectedVolatile = ecc_counter(0, 0), kUncorrectedVolatile = ecc_counter(1, 0);
constexpr int kCorrectedAggregate = ecc_counter(0, 1), kUncorrectedAggregate = ecc_counter(1, 1);

constexpr DeviceQuery kDeviceQueries[] = {
    // identity
    {{{{"nvmlDeviceGetPciInfo_v3", pci_info},
       {"nvmlDeviceGetPciInfo_v2", pci_info},
       {"nvmlDeviceGetPciInfo", pci_info}}}},
    {{{{"nvmlDeviceGetName", text}}}},
    {{{{"nvmlDeviceGetUUID", text}}}},
    {{{{"nvmlDeviceGetSerial", text}}}},
    {{{{"nvmlDeviceGetBoardPartNumber", text}}}, full},
    {{{{"nvmlDeviceGetMinorNumber", number}}}},
    {{{{"nvmlDeviceGetVbiosVersion", text}}}},
    {{{{"nvmlDeviceGetGspFirmwareVersion", text_of_known_size}}}, full},
    {{{{"nvmlDeviceGetCudaComputeCapability", compute_capability}}}},
    {{{{"nvmlDeviceGetArchitecture", number}}}, full},
    {{{{"nvmlDeviceGetNumGpuCores", number}}}, full},
    // memory
    {{{{"nvmlDeviceGetMemoryInfo_v2", memory_v2}, {"nvmlDeviceGetMemoryInfo", memory}}}},
    {{{{"nvmlDeviceGetBAR1MemoryInfo", bar1_memory}}}, full},
    {{{{"nvmlDeviceGetMemoryBusWidth", number}}}, full},
    // clocks, power, temperature
    {{{{"nvmlDeviceGetClockInfo", number_of}}}, full, "sm", kClockSm},
    {{{{"nvmlDeviceGetClockInfo", number_of}}}, full, "mem", kClockMemory},
    {{{{"nvmlDeviceGetMaxClockInfo", number_of}}}, full, "sm", kClockSm},
    {{{{"nvmlDeviceGetMaxClockInfo", number_of}}}, full, "mem", kClockMemory},
    {{{{"nvmlDeviceGetCurrentClocksEventReasons", number64},
       {"nvmlDeviceGetCurrentClocksThrottleReasons", number64}}},
     full},
    {{{{"nvmlDeviceGetPowerUsage", number}}}},
    {{{{"nvmlDeviceGetEnforcedPowerLimit", number},
       {"nvmlDeviceGetPowerManagementLimit", number}}}},
    {{{{"nvmlDeviceGetPowerManagementDefaultLimit", number}}}, full},
    {{{{"nvmlDeviceGetPowerManagementLimitConstraints", power_constraints}}}, full},
    {{{{"nvmlDeviceGetTemperatureV", temperature_v1}, {"nvmlDeviceGetTemperature", number_of}}}},
    {{{{"nvmlDeviceGetTemperatureThreshold", number_of}}}, full, "shutdown", kShutdown},
    {{{{"nvmlDeviceGetTemperatureThreshold", number_of}}}, full, "slowdown", kSlowdown},
    {{{{"nvmlDeviceGetTemperatureThreshold", number_of}}}, full, "mem_max", kMemoryMax},
    {{{{"nvmlDeviceGetUtilizationRates", utilization}}}, full},
    // memory errors
    {{{{"nvmlDeviceGetEccMode", current_and_pending}}}, full},
    {{{{"nvmlDeviceGetTotalEccErrors", ecc_total}}},
     basic,
     "corrected,volatile",
     kCorrectedVolatile},
    {{{{"nvmlDeviceGetTotalEccErrors", ecc_total}}},
     basic,
     "uncorrected,volatile",
     kUncorrectedVolatile},
    {{{{"nvmlDeviceGetTotalEccErrors", ecc_total}}},
     basic,
     "corrected,aggregate",
     kCorrectedAggregate},
    {{{{"nvmlDeviceGetTotalEccErrors", ecc_total}}},
     basic,
     "uncorrected,aggregate",
     kUncorrectedAggregate},
    {{{{"nvmlDeviceGetSramEccErrorStatus", sram_errors}}}, full},
    {{{{"nvmlDeviceGetRemappedRows", remapped_rows}}}},
    {{{{"nvmlDeviceGetRowRemapperHistogram", row_remapper_histogram}}}, full},
    {{{{"nvmlDeviceGetRetiredPages_v2", retired_pages_v2},
       {"nvmlDeviceGetRetiredPages", retired_pages}}},
     full,
     "single_bit",
     kSingleBit},
    {{{{"nvmlDeviceGetRetiredPages_v2", retired_pages_v2},
       {"nvmlDeviceGetRetiredPages", retired_pages}}},
     full,
     "double_bit",
     kDoubleBit},
    {{{{"nvmlDeviceGetRetiredPagesPendingStatus", number}}}, full},
    // PCI Express
    {{{{"nvmlDeviceGetCurrPcieLinkGeneration", number}}}, full},
    {{{{"nvmlDeviceGetCurrPcieLinkWidth", number}}}, full},
    {{{{"nvmlDeviceGetMaxPcieLinkGeneration", number}}}},
    {{{{"nvmlDeviceGetMaxPcieLinkWidth", number}}}},
    {{{{"nvmlDeviceGetPcieReplayCounter", number}}}, full},
    // modes
    {{{{"nvmlDeviceGetPersistenceMode", number}}}},
    {{{{"nvmlDeviceGetMigMode", current_and_pending}}}},
    {{{{"nvmlDeviceGetComputeMode", number}}}},
    {{{{"nvmlDeviceGetVirtualizationMode", number}}}, full},
    {{{{"nvmlDeviceGetGpuFabricInfoV", fabric_info_v3, "v3"},
       {"nvmlDeviceGetGpuFabricInfoV", fabric_info_v2, "v2"},
       {"nvmlDeviceGetGpuFabricInfo", fabric_info}}},
     full},
    // place
    {{{{"nvmlDeviceGetCpuAffinity", cpu_affinity}}}, full},
    {{{{"nvmlDeviceGetMemoryAffinity", memory_affinity}}}, full},
    // the board's own data; reads the whole of it
    {{{{"nvmlDeviceValidateInforom", nothing}}}, full},
};

constexpr DeviceQuery kMigDeviceQueries[] = {
    {{{{"nvmlDeviceGetUUID", text}}}},
    {{{{"nvmlDeviceGetName", text}}}},
    {{{{"nvmlDeviceGetGpuInstanceId", number}}}},
    {{{{"nvmlDeviceGetComputeInstanceId", number}}}},
    {{{{"nvmlDeviceGetMemoryInfo_v2", memory_v2}, {"nvmlDeviceGetMemoryInfo", memory}}}},
    // Without _v2 the structure was another.
    {{{{"nvmlDeviceGetAttributes_v2", attributes}}}},
};

// Answers that say that this way of asking is not known here, so that the older one may be.
bool ask_older(int code) {
  return code == kFunctionNotFound || code == kArgumentVersionMismatch ||
         code == kInvalidArgument || code == kNotSupported;
}

std::string second_argument(const DeviceQuery& query, const Alternative& alternative) {
  std::string text = query.argument;
  if (*alternative.note != 0) text += (text.empty() ? "" : ",") + std::string(alternative.note);
  return text;
}

void ask_table(Session& session, const Target& target, std::span<const DeviceQuery> queries) {
  for (const auto& query : queries) {
    if (query.level == full && !session.full) continue;
    for (const auto& alternative : query.alternatives) {
      if (alternative.symbol == nullptr) break;
      const auto key = call_key(alternative.symbol, target.id, second_argument(query, alternative));
      void* function = session.library.symbol(alternative.symbol);
      if (function == nullptr) {
        session.writer.missing(key);
        continue;
      }
      const int code = ask(session.writer, key, [&](Json& value) {
        return alternative.adapter(function, target.handle, query.parameter, value);
      });
      if (!ask_older(code)) break;
    }
  }
}

}  // namespace

void ask_device(Session& session, const Target& target) {
  ask_table(session, target, kDeviceQueries);
}
void ask_mig_device(Session& session, const Target& target) {
  ask_table(session, target, kMigDeviceQueries);
}

}  // namespace gpuready::nvml
