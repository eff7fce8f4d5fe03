// Paths that name an open descriptor. Such a path is not opened anew: sockets cannot be, and a file
// would be read or written from its start.
#pragma once

#include <climits>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace gpuready {

// N of "/dev/fd/N" and "/proc/self/fd/N".
inline std::optional<int> descriptor_named_by(std::string_view path) {
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"})
    if (const auto name = after_prefix(path, folder))
      if (const auto number = parse_uint(*name); number && *number <= INT_MAX)
        return static_cast<int>(*number);
  return std::nullopt;
}

}  // namespace gpuready
