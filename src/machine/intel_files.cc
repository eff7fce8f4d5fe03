// Intel GPUs from files: the i915 and xe drivers' sysfs (Linux, Documentation/ABI/testing/
// sysfs-driver-intel-xe-hwmon, -i915-hwmon, and the drivers' gt frequency files).
#include <algorithm>
#include <array>

#include "machine/sources.h"
#include "machine/system/drm_cards.h"
#include "machine/system/hwmon.h"

namespace gpuready {
namespace {
std::optional<int> mhz(Host& host, std::initializer_list<std::string> paths) {
  for (const auto& path : paths) {
    const auto value = host.read_int(path);
    if (value && *value > 0 && *value < 100'000) return static_cast<int>(*value);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> bytes(Host& host, std::initializer_list<std::string> paths) {
  for (const auto& path : paths) {
    const auto text = host.read_text(path);
    if (!text) continue;
    // xe writes hexadecimal with 0x, i915 decimal.
    const auto value = text->starts_with("0x") ? host.read_hex(path) : [&] {
      const auto number = host.read_int(path);
      return number && *number > 0 ? std::optional(static_cast<std::uint64_t>(*number))
                                   : std::nullopt;
    }();
    if (value && *value > 0) return value;
  }
  return std::nullopt;
}

// Where xe and i915 tell the clock that the GPU has now; they ask it.
std::array<std::string, 2> clocks_now(const std::string& card) {
  return {card + "/device/tile0/gt0/freq0/act_freq", card + "/gt_act_freq_mhz"};
}

void read_card(Host& host, const std::string& card, Gpu& gpu) {
  const std::string device = card + "/device";
  const std::string gt = device + "/tile0/gt0/freq0/";
  const auto now = clocks_now(card);
  gpu.clocks.sm_mhz = mhz(host, {now[0], now[1]});
  if (!gpu.clocks.sm_mhz)
    gpu.clocks.sm_mhz = mhz(host, {gt + "cur_freq", card + "/gt_cur_freq_mhz"});
  gpu.clocks.max_sm_mhz = mhz(host, {gt + "rp0_freq", card + "/gt_RP0_freq_mhz", gt + "max_freq",
                                     card + "/gt_max_freq_mhz"});
  gpu.memory.total_bytes =
      bytes(host, {device + "/tile0/physical_vram_size_bytes", card + "/lmem_total_bytes"});
  const auto sensors = read_hwmon(host, device);
  gpu.thermal.gpu_celsius = sensors.package_celsius;
  gpu.thermal.memory_celsius = sensors.memory_celsius;
  gpu.thermal.shutdown_celsius = sensors.emergency_celsius;
  gpu.power.draw_mw = sensors.power_mw;
  gpu.power.limit_mw = sensors.power_cap_mw;
  add_source(gpu, gpu.driver == "xe" ? "xe" : "i915");
}
}  // namespace

void read_intel_files(Host& host, Machine& machine) {
  const bool any = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                               [](const Gpu& gpu) { return gpu.vendor == Vendor::intel; });
  if (!any) return;
  machine.intel.i915_loaded = host.exists("/sys/module/i915");
  machine.intel.xe_loaded = host.exists("/sys/module/xe");
  const auto cards = drm_cards(host);
  std::vector<std::pair<Gpu*, std::string>> awake;
  std::vector<std::string> files;
  for (auto& gpu : machine.gpus) {
    if (gpu.vendor != Vendor::intel || gpu.suspended || !gpu.pci) continue;
    const auto card = cards.find(*gpu.pci);
    if (card == cards.end()) continue;
    awake.emplace_back(&gpu, card->second);
    for (const auto& clock : clocks_now(card->second)) files.push_back(clock);
    add_hwmon_files(host, card->second + "/device", files);
  }
  if (!awake.empty()) host.ask_driver(files);
  for (const auto& [gpu, card] : awake) read_card(host, card, *gpu);
}

}  // namespace gpuready
