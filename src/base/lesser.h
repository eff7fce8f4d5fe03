#pragma once

#include <algorithm>
#include <optional>

namespace gpuready {

// The lesser of two values; of one that is unknown, the other.
template <class T>
std::optional<T> lesser(std::optional<T> a, std::optional<T> b) {
  if (a && b) return std::min(*a, *b);
  return a ? a : b;
}

}  // namespace gpuready
