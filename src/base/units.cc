#include "base/units.h"

#include <cmath>

#include "base/print/printed.h"

namespace gpuready {

std::string format_bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0 || value == std::floor(value)) return printed("%.0f %s", value, kUnits[unit]);
  return printed("%.1f %s", value, kUnits[unit]);
}

std::string format_rate(double bytes_per_second) {
  constexpr const char* kUnits[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  int unit = 0;
  while (bytes_per_second >= 1000 && unit < 4) {
    bytes_per_second /= 1000;
    ++unit;
  }
  return printed("%.3g %s", bytes_per_second, kUnits[unit]);
}

std::string format_duration_ms(double milliseconds) {
  if (milliseconds >= 1000) return printed("%.2f s", milliseconds / 1000);
  if (milliseconds >= 1) return printed("%.1f ms", milliseconds);
  return printed("%.1f us", milliseconds * 1000);
}

std::string format_percent(double fraction, int decimals) {
  const double scale = std::pow(10.0, decimals + 2);
  double scaled = fraction * scale;
  // A coverage of 99.98% must never read "100%".
  scaled = fraction < 1 ? std::floor(scaled + 1e-9) : std::round(scaled);
  return printed("%.*f%%", decimals, scaled / std::pow(10.0, decimals));
}

std::string format_hex(std::uint64_t value, int digits) {
  return printed("0x%0*llx", digits, static_cast<unsigned long long>(value));
}

}  // namespace gpuready
