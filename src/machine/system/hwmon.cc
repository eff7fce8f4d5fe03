#include "machine/system/hwmon.h"

#include "base/text.h"

namespace gpuready {
namespace {
struct Label {
  std::string_view text;
  std::optional<int> HwmonReading::* field;
};
// amdgpu's and Intel xe's labels.
constexpr Label kLabels[] = {
    {"edge", &HwmonReading::edge_celsius},   {"junction", &HwmonReading::junction_celsius},
    {"mem", &HwmonReading::memory_celsius},  {"pkg", &HwmonReading::package_celsius},
    {"vram", &HwmonReading::memory_celsius},
};

std::optional<int> celsius(Host& host, const std::string& path) {
  const auto milli = host.read_int(path);
  if (!milli || *milli < -100'000 || *milli > 250'000) return std::nullopt;
  return static_cast<int>(*milli / 1000);
}

std::optional<std::uint32_t> milliwatts(Host& host, const std::string& path) {
  const auto micro = host.read_int(path);
  if (!micro || *micro < 0 || *micro / 1000 > 100'000'000) return std::nullopt;
  return static_cast<std::uint32_t>(*micro / 1000);
}
}  // namespace

void add_hwmon_files(Host& host, const std::string& device, std::vector<std::string>& files) {
  const auto names = host.list_directory(device + "/hwmon");
  if (!names || names->empty()) return;
  const std::string folder = device + "/hwmon/" + names->front();
  if (const auto sensors = host.list_directory(folder))
    for (const auto& name : *sensors)
      if (name.starts_with("temp") || name.starts_with("power"))
        files.push_back(folder + "/" + name);
}

HwmonReading read_hwmon(Host& host, const std::string& device) {
  HwmonReading out;
  const auto names = host.list_directory(device + "/hwmon");
  if (!names || names->empty()) return out;
  const std::string base = device + "/hwmon/" + names->front() + "/";
  for (int i = 1; i <= 4; ++i) {
    const std::string sensor = base + "temp" + std::to_string(i) + "_";
    const auto label = host.read_text(sensor + "label");
    // A lone sensor without a label is the edge.
    const std::string name = label.value_or(i == 1 ? "edge" : "");
    for (const auto& known : kLabels)
      if (known.text == name) out.*known.field = celsius(host, sensor + "input");
    if (name == "edge" || name == "junction" || name == "pkg") {
      if (const auto value = celsius(host, sensor + "crit")) out.critical_celsius = value;
      if (const auto value = celsius(host, sensor + "emergency")) out.emergency_celsius = value;
    }
  }
  out.power_mw = milliwatts(host, base + "power1_average");
  if (!out.power_mw) out.power_mw = milliwatts(host, base + "power1_input");
  out.power_cap_mw = milliwatts(host, base + "power1_cap");
  out.power_cap_default_mw = milliwatts(host, base + "power1_cap_default");
  out.power_cap_max_mw = milliwatts(host, base + "power1_cap_max");
  return out;
}

}  // namespace gpuready
