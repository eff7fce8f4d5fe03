// The numbers of ggml's tensor types. Forks have given the same numbers to other types.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpuready/ternary.h"

namespace gpuready::ternary::gguf {

inline constexpr std::uint32_t kF32 = 0, kF16 = 1, kBf16 = 30, kTq1 = 34, kTq2 = 35, kI2s = 36,
                               kTl1 = 38, kTl2 = 39, kTl2New = 42;

struct Type {
  std::uint32_t number = 0;
  std::string_view name;
  std::int64_t block = 0;  // weights; 0 where the size does not follow from the number
  std::int64_t block_bytes = 0;
};
// Nothing for a number that is not known.
const Type* find_type(std::uint32_t number);
std::string type_name(std::uint32_t number);  // "Q4_K", "type 99"

std::optional<FloatType> float_type(std::uint32_t number);

// How GGUF files hold a format: nothing for formats that no GGUF type number stands for.
struct Stored {
  FormatId format = FormatId::tq1_0;
  std::uint32_t type = 0;       // of the tensor
  std::uint32_t file_type = 0;  // general.file_type of a file that is mostly so
  bool scale_tensor = false;    // an f32 tensor NAME_scale right behind it holds the scale
};
std::optional<Stored> stored_as(FormatId format);

}  // namespace gpuready::ternary::gguf
