#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "gpuready/ternary.h"

namespace gpuready::ternary {

inline std::string to_text(Shape shape) {
  return std::to_string(shape.rows) + " x " + std::to_string(shape.cols);
}

// A caller in C, or with a cast, can give an enum a value that it does not have.
inline Result<void> check_type(FloatType type) {
  if (type == FloatType::f32 || type == FloatType::f16 || type == FloatType::bf16) return {};
  return fail(ErrorKind::bad_input, "the type of the values is not f32, f16 or bf16");
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

// Whether weights can meet activations of this many columns.
inline Result<void> check_cols(Shape weights, std::int64_t cols) {
  if (weights.cols == cols) return {};
  return fail(ErrorKind::wrong_size, "weights of " + to_text(weights) +
                                         " do not fit activations of " + std::to_string(cols) +
                                         " columns");
}

// Whether weights that share a scale by `group` (0: a row) have such products.
inline Result<void> check_output(std::int64_t group, bool is_int32) {
  if (group == 0 || !is_int32) return {};
  return fail(ErrorKind::not_representable,
              "weights with scales by group have no int32 product; ask for f32, bf16 or f16");
}

// Whether what is added fits a product of rows x cols.
inline Result<void> check_addend(const FloatView& view, std::size_t rows, std::size_t cols,
                                 const char* name) {
  if (view.bytes.empty()) return {};
  TRY(check_type(view.type));
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(rows, cols, &bytes) &&
      !__builtin_mul_overflow(bytes, std::size_t{view.type == FloatType::f32 ? 4u : 2u}, &bytes) &&
      bytes == view.bytes.size())
    return {};
  return fail(ErrorKind::wrong_size, std::string("the ") + name + " of " + std::to_string(rows) +
                                         " x " + std::to_string(cols) + " values is not " +
                                         std::to_string(view.bytes.size()) + " bytes");
}
// What is added is read as the products are written: the residual may be their place, as it is, and
// nothing else may lie in it. Addresses are of a host or of a device.
inline Result<void> check_apart(std::uint64_t out, std::uint64_t out_bytes, std::uint64_t added,
                                std::uint64_t added_bytes, bool may_be_out, const char* name) {
  if (added_bytes == 0 || added >= out + out_bytes || out >= added + added_bytes ||
      (may_be_out && added == out && added_bytes == out_bytes))
    return {};
  return fail(ErrorKind::bad_input, std::string("the ") + name + " overlaps the products" +
                                        (may_be_out ? ", but is not the same elements" : ""));
}
inline Result<void> check_addends(const Addends& addends, std::size_t rows, std::size_t cols,
                                  std::span<const std::byte> out) {
  TRY(check_addend(addends.bias, 1, cols, "bias"));
  TRY(check_addend(addends.residual, rows, cols, "residual"));
  const auto at = [](std::span<const std::byte> bytes) {
    return std::bit_cast<std::uintptr_t>(bytes.data());
  };
  TRY(check_apart(at(out), out.size(), at(addends.bias.bytes), addends.bias.bytes.size(), false,
                  "bias"));
  return check_apart(at(out), out.size(), at(addends.residual.bytes), addends.residual.bytes.size(),
                     true, "residual");
}

}  // namespace gpuready::ternary
