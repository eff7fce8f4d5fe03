// The known word that somebody meant who typed another.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready {

// The word that differs from `typed` in the fewest letters; nothing when none is near.
std::optional<std::string> closest(std::string_view typed, const std::vector<std::string>& words);

// "; did you mean detect?", or nothing.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words);

}  // namespace gpuready
