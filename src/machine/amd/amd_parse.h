// Formats of AMD's kernel drivers: KFD topology (Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c),
// amdgpu's sysfs files and its gpu_metrics tables (kgd_pp_interface.h), RAS counters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/machine.h"

namespace gpuready {

// "key value" lines; values that are not unsigned numbers are left out. At most 256 keys.
using KfdProperties = std::map<std::string, std::uint64_t, std::less<>>;
KfdProperties parse_kfd_properties(std::string_view text);
std::optional<std::uint64_t> property(const KfdProperties& properties, std::string_view key);

// gfx_target_version: major * 10000 + minor * 100 + stepping; the last two in hexadecimal digits in
// the name. 90402 -> "gfx942", 90010 -> "gfx90a". 0 is a CPU node.
std::optional<std::string> gfx_name(std::uint64_t target_version);
// "gfx942" -> "CDNA 3"; by family where the exact target is unknown.
std::optional<std::string> amd_architecture(std::string_view gfx);
// A processor's own graphics, by its target: it shares the host's memory.
bool is_apu_target(std::string_view gfx);
// location_id holds bus and device; its function bits number the partition of a partitioned GPU.
PciAddress kfd_address(std::uint64_t domain, std::uint64_t location_id);

struct DpmClocks {
  std::optional<int> now_mhz, max_mhz;
};
// pp_dpm_sclk: "0: 500Mhz\n1: 2100Mhz *"; the current one is starred, "S:" is deep sleep.
DpmClocks parse_dpm(std::string_view text);

struct RasCounts {
  std::optional<std::uint64_t> uncorrectable, correctable;
};
// "ue: 0\nce: 3"
RasCounts parse_ras(std::string_view text);

struct GpuMetrics {
  int format_revision = 0, content_revision = 0;  // 2.x and 3.x are written by APUs alone
  std::optional<int> edge_celsius, hotspot_celsius, memory_celsius;
  std::optional<std::uint32_t> socket_power_watts;
  std::optional<int> activity_percent;
};
// The binary table; nothing when its header does not fit its size. Only versions 1.1 to 1.8 are
// taken further: 1.0 has another order, 2.x are APUs', 1.9 is a list of attributes.
std::optional<GpuMetrics> parse_gpu_metrics(std::string_view bytes);

// gfx targets in the names of rocBLAS's kernel files, sorted, each once.
std::vector<std::string> rocblas_targets(const std::vector<std::string>& file_names);
// "6.0.2-115" -> "6.0.2".
std::optional<std::string> parse_rocm_version(std::string_view text);

}  // namespace gpuready
