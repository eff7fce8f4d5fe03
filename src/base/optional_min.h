#pragma once

#include <algorithm>
#include <optional>

namespace gpuready {

// The smaller of two values; if one is unknown, the other.
template <class T>
std::optional<T> optional_min(std::optional<T> a, std::optional<T> b) {
  if (a && b) return std::min(*a, *b);
  return a ? a : b;
}

}  // namespace gpuready
