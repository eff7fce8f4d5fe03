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

std::optional<std::int64_t> parse_utc(std::string_view text) {
  std::tm time{};
  const std::string copy(text);
  const char* end = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time);
  if (end == nullptr || *end != 0 || copy.size() != text.size()) return std::nullopt;
  const std::int64_t seconds = timegm(&time);
  if (format_utc(seconds) != text) return std::nullopt;  // a day that its month does not have
  return seconds;
}

}  // namespace gpuready
