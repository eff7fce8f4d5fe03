// Tegra's integrated GPU. It is on no PCI bus; the nvgpu driver shows it under a platform device
// whose path changed over the generations (Jetson Linux Developer Guide).
#include "base/text.h"
#include "machine/sources.h"

namespace gpuready {
namespace {
// Where it is by kernel and device tree, and its name there: by chip up to Orin's first releases.
constexpr std::string_view kBuses[] = {"/sys/devices/", "/sys/devices/platform/",
                                       "/sys/devices/platform/bus@0/"};
constexpr std::string_view kNames[] = {"gpu.0",          "57000000.gpu",   "17000000.gpu",
                                       "17000000.gp10b", "17000000.gv11b", "17000000.ga10b"};

std::optional<std::string> find_folder(Host& host) {
  for (const auto bus : kBuses)
    for (const auto name : kNames)
      if (auto folder = std::string(bus) + std::string(name); host.exists(folder)) return folder;
  return std::nullopt;
}

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
  const auto found = find_folder(host);
  if (!found) return;
  const std::string& folder = *found;
  auto& gpu = machine.gpus.emplace_back();
  gpu.vendor = Vendor::nvidia;
  gpu.integrated = true;
  gpu.name = host.read_text("/proc/device-tree/model").value_or("NVIDIA Jetson");
  gpu.name_source = "device tree";
  for (const auto& sign : {folder + "/load", folder + "/driver", std::string("/sys/module/nvgpu"),
                           std::string("/dev/nvhost-gpu")})
    if (host.exists(sign)) gpu.driver = "nvgpu";
  if (const auto load = host.read_int(folder + "/load"); load && *load >= 0 && *load <= 1000)
    gpu.utilization_percent = static_cast<int>(*load / 10);  // per mille
  gpu.clocks.sm_mhz = clock_mhz(host, folder, "cur_freq");
  gpu.clocks.max_sm_mhz = clock_mhz(host, folder, "max_freq");
  add_source(gpu, "jetson");
}

}  // namespace gpuready
