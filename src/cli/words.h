// What people type: words that were meant, and times with a unit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuready::cli {

// The word that was most likely meant, by the fewest letters that differ; nothing when none is
// near.
std::optional<std::string> closest(std::string_view typed, std::span<const std::string> words);

// "90", "90s", "1.5h", "250ms", "2d": seconds. A plain number is in seconds.
std::optional<double> parse_seconds(std::string_view text);

}  // namespace gpuready::cli
