// Linux hwmon (Documentation/hwmon/sysfs-interface): temperatures in millidegrees, power in
// microwatts.
#pragma once

#include <optional>
#include <string>

#include "host/host.h"

namespace gpuready {

struct HwmonReading {
  std::optional<int> edge_celsius, junction_celsius, memory_celsius, package_celsius;
  std::optional<int> critical_celsius, emergency_celsius;
  std::optional<std::uint32_t> power_mw, power_cap_mw, power_cap_default_mw, power_cap_max_mw;
};
// `device` is the sysfs folder that holds hwmon/hwmonN.
// Adds what read_hwmon() reads, for Host::ask_driver().
void add_hwmon_files(Host& host, const std::string& device, std::vector<std::string>& files);
HwmonReading read_hwmon(Host& host, const std::string& device);

}  // namespace gpuready
