#include "base/clock.h"

#include <fmt/format.h>

#include <ctime>

namespace gpuready {

std::string format_utc(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  if (gmtime_r(&time, &parts) == nullptr) return {};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace gpuready
