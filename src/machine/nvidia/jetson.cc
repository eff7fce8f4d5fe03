// Tegra's integrated GPU. It is on no PCI bus; the nvgpu driver shows it under a platform device
// whose path changed over the generations (Jetson Linux Developer Guide).
#include "base/text.h"
#include "machine/sources.h"

namespace gpuready {
namespace {
constexpr const char* kFolders[] = {
    "/sys/devices/gpu.0",
    "/sys/devices/platform/gpu.0",
    "/sys/devices/platform/17000000.gpu",        // Xavier, Orin
    "/sys/devices/platform/bus@0/17000000.gpu",  // Orin, newer device trees
    "/sys/devices/17000000.gv11b",               // Xavier, older
    "/sys/devices/17000000.ga10b",               // Orin, older
    "/sys/devices/57000000.gpu",                 // Nano, TX1
};

std::optional<int> clock_mhz(Host& host, const std::string& folder, const char* file) {
  const auto names = host.list_directory(folder + "/devfreq");
  if (!names || names->empty()) return std::nullopt;
  const auto hertz = host.read_int(folder + "/devfreq/" + names->front() + "/" + file);
  if (!hertz || *hertz <= 0 || *hertz > 100'000'000'000) return std::nullopt;
  return static_cast<int>(*hertz / 1'000'000);
}
}  // namespace

void read_jetson_files(Host& host, Machine& machine) {
  if (!machine.system.jetson_release) return;
  for (const std::string folder : kFolders) {
    if (!host.exists(folder)) continue;
    auto& gpu = machine.gpus.emplace_back();
    gpu.vendor = Vendor::nvidia;
    gpu.integrated = true;
    gpu.name = host.read_text("/proc/device-tree/model").value_or("NVIDIA Jetson");
    gpu.name_source = "device tree";
    gpu.driver = "nvgpu";
    if (const auto load = host.read_int(folder + "/load"); load && *load >= 0 && *load <= 1000)
      gpu.utilization_percent = static_cast<int>(*load / 10);  // per mille
    gpu.clocks.sm_mhz = clock_mhz(host, folder, "cur_freq");
    gpu.clocks.max_sm_mhz = clock_mhz(host, folder, "max_freq");
    add_source(gpu, "jetson");
    return;
  }
}

}  // namespace gpuready
