// Times as people type them.
#pragma once

#include <optional>
#include <string_view>

namespace gpuready::cli {

// "90", "90s", "1.5h", "250ms", "2d": seconds. A plain number is in seconds.
std::optional<double> parse_seconds(std::string_view text);

}  // namespace gpuready::cli
