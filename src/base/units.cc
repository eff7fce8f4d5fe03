#include "base/units.h"

#include <fmt/format.h>

#include <cmath>

namespace gpuready {

std::string format_bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0 || value == std::floor(value)) return fmt::format("{:.0f} {}", value, kUnits[unit]);
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_rate(double bytes_per_second) {
  constexpr const char* kUnits[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  int unit = 0;
  while (bytes_per_second >= 1000 && unit < 4) {
    bytes_per_second /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", bytes_per_second, kUnits[unit]);
}

std::string format_duration_ms(double milliseconds) {
  if (milliseconds >= 1000) return fmt::format("{:.2f} s", milliseconds / 1000);
  if (milliseconds >= 1) return fmt::format("{:.1f} ms", milliseconds);
  return fmt::format("{:.1f} us", milliseconds * 1000);
}

std::string format_percent(double fraction, int decimals) {
  const double scale = std::pow(10.0, decimals + 2);
  double scaled = fraction * scale;
  // A coverage of 99.98% must never read "100%".
  scaled = fraction < 1 ? std::floor(scaled + 1e-9) : std::round(scaled);
  return fmt::format("{:.{}f}%", scaled / std::pow(10.0, decimals), decimals);
}

std::string format_hex(std::uint64_t value, int digits) {
  return fmt::format("0x{:0{}x}", value, digits);
}

}  // namespace gpuready
