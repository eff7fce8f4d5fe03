#pragma once

#include <string>

#include "base/result.h"
#include "gpuready/ternary.h"

namespace gpuready::ternary {

inline std::string to_text(Shape shape) {
  return std::to_string(shape.rows) + " x " + std::to_string(shape.cols);
}

// Elements of a shape; no dimension may be zero or negative, and 2^40 elements are the most.
inline Result<std::size_t> elements(Shape shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (shape.rows < 1 || shape.cols < 1) {
    return fail(ErrorKind::wrong_size, "a shape of " + to_text(shape) + " has no elements");
  }
  if (shape.rows > kMost / shape.cols) {
    return fail(ErrorKind::too_large, "a shape of " + to_text(shape) + " is too large");
  }
  return static_cast<std::size_t>(shape.rows * shape.cols);
}

}  // namespace gpuready::ternary
