// Parts of a path, only by text.
#pragma once

#include <string>
#include <string_view>

namespace gpuready {

// "b" of "a/b"; the whole of what has no slash.
inline std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// "a" of "a/b", "/" of "/b", "." of what has no slash.
inline std::string folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

}  // namespace gpuready
