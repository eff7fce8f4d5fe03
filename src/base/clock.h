// Clocks. Durations come from the monotonic clock; wall time only ever labels a document.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuready {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

inline Deadline deadline_in(std::chrono::milliseconds duration) { return Clock::now() + duration; }
// For poll() and its like, which count in milliseconds; 0: it has passed.
inline std::chrono::milliseconds left_until(Deadline deadline) {
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()),
                  std::chrono::milliseconds(0));
}
inline double elapsed_ms(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}
inline double monotonic_ms() {
  return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count();
}
std::string format_utc(std::int64_t unix_seconds);             // "2026-03-01T12:00:00Z"
std::optional<std::int64_t> parse_utc(std::string_view text);  // of the same form

}  // namespace gpuready
