// errno numbers by their names, so that recordings read the same everywhere.
#pragma once

#include <optional>
#include <string_view>

namespace gpuready {

std::optional<int> errno_from_name(std::string_view name);  // "ENOENT" -> 2
std::string_view errno_name(int number);                    // empty when it is not in the table

}  // namespace gpuready
