// The names, types and units of NVIDIA's dcgm-exporter (its default-counters.csv), for the metrics
// whose values are known here.
#include <fmt/format.h>

#include "base/text.h"
#include "exporter/report/page.h"

namespace gpuready::exporter {
namespace {

using Value = std::optional<double>;
template <class T>
Value scaled(const std::optional<T>& value, double scale = 1) {
  return value ? Value(static_cast<double>(*value) * scale) : std::nullopt;
}

constexpr double kMebibyte = 1 << 20;
struct DcgmMetric {
  std::string_view name, type, help;
  Value (*value)(const Gpu&);
};
constexpr DcgmMetric kMetrics[] = {
    {"DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).",
     [](const Gpu& gpu) { return scaled(gpu.clocks.sm_mhz); }},
    {"DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock frequency (in MHz).",
     [](const Gpu& gpu) { return scaled(gpu.clocks.memory_mhz); }},
    {"DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Memory temperature (in C).",
     [](const Gpu& gpu) { return scaled(gpu.thermal.memory_celsius); }},
    {"DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).",
     [](const Gpu& gpu) { return scaled(gpu.thermal.gpu_celsius); }},
    {"DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).",
     [](const Gpu& gpu) { return scaled(gpu.power.draw_mw, 1e-3); }},
    {"DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).",
     [](const Gpu& gpu) { return scaled(gpu.utilization_percent); }},
    {"DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB).",
     [](const Gpu& gpu) { return scaled(gpu.memory.free_bytes, 1 / kMebibyte); }},
    {"DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB).",
     [](const Gpu& gpu) { return scaled(gpu.memory.used_bytes, 1 / kMebibyte); }},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "Total number of PCIe retries.",
     [](const Gpu& gpu) { return scaled(gpu.pcie_errors.replays); }},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", "Total number of single-bit volatile ECC errors.",
     [](const Gpu& gpu) { return scaled(gpu.ecc.since_boot.corrected); }},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "Total number of double-bit volatile ECC errors.",
     [](const Gpu& gpu) { return scaled(gpu.ecc.since_boot.uncorrected); }},
    {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter",
     "Number of remapped rows for correctable errors.",
     [](const Gpu& gpu) { return scaled(gpu.remapping.corrected); }},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter",
     "Number of remapped rows for uncorrectable errors.",
     [](const Gpu& gpu) { return scaled(gpu.remapping.uncorrected); }},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether remapping of rows has failed.",
     [](const Gpu& gpu) { return scaled(gpu.remapping.failed); }},
};

}  // namespace

void add_dcgm(const Gpu& gpu, int number, const std::string& host_name, bool answers,
              std::optional<int> last_xid, Exposition& out) {
  if (gpu.vendor != Vendor::nvidia) return;
  const auto address = [&] {  // as NVML writes it
    return gpu.pci ? fmt::format("{:08X}:{:02X}:{:02X}.{}", gpu.pci->domain, gpu.pci->bus,
                                 gpu.pci->device, gpu.pci->function)
                   : std::string();
  };
  const Labels labels = {
      {"gpu", std::to_string(number)},
      {"UUID", gpu.uuid.value_or("")},
      {"pci_bus_id", address()},
      {"device", gpu.minor_number ? fmt::format("nvidia{}", *gpu.minor_number) : ""},
      {"modelName", gpu.name},
      {"hostname", host_name}};
  if (last_xid)
    out.add("DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered.", labels,
            *last_xid);
  if (!answers) return;
  for (const DcgmMetric& metric : kMetrics)
    if (const Value value = metric.value(gpu))
      out.add(metric.name, metric.type, metric.help, labels, *value);
}

}  // namespace gpuready::exporter
