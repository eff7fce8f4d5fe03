// The numbers of ggml's tensor types. Forks have given the same numbers to other types.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpuready/ternary.h"
#include "ternary/gguf/gguf.h"

namespace gpuready::ternary::gguf {

inline constexpr std::uint32_t kF32 = 0, kF16 = 1, kBf16 = 30, kTq1 = 34, kTq2 = 35, kI2s = 36,
                               kTl1 = 38, kTl2 = 39, kTl2New = 42;
// Numbers of ours for types that only safetensors files have. GGUF files with such numbers are
// refused.
inline constexpr std::uint32_t kOfSafetensors = 0x10000, kPackedU8 = kOfSafetensors;

struct Type {
  std::uint32_t number = 0;
  std::string_view name;
  std::int64_t block = 0;  // weights; 0 where the size does not follow from the number
  std::int64_t block_bytes = 0;
};
// Nothing for a number that is not known.
const Type* find_type(std::uint32_t number);
// One whose blocks are single numbers, by its name; nothing for any other.
const Type* find_plain_type(std::string_view name);
bool holds(Container container, std::uint32_t type);
std::string type_name(std::uint32_t number);  // "Q4_K", "type 99"

std::optional<FloatType> float_type(std::uint32_t number);

// How files hold a format: nothing for formats that no type number stands for. A format with scales
// beside its bytes has them in an f32 tensor right behind it; gguf_scales.h has its name.
struct Stored {
  FormatId asked = FormatId::tq1_0;
  FormatId format = FormatId::tq1_0;  // that files hold for it
  std::uint32_t type = 0;             // of the tensor
  std::uint32_t file_type = 0;        // general.file_type of a GGUF file that is mostly so
  Container container = Container::gguf;
};
std::span<const Stored> stored_formats();
std::optional<Stored> stored_as(FormatId format);

}  // namespace gpuready::ternary::gguf
