#include "ternary/gguf/gguf_types.h"

#include <algorithm>
#include <iterator>

namespace gpuready::ternary::gguf {
namespace {

// ggml-org/llama.cpp gguf-py/gguf/constants.py (GGMLQuantizationType, GGML_QUANT_SIZES; package
// gguf 0.19.0). 36, 37, 38, 39 and 42 are bitnet.cpp's: Eddie-Wang1120/llama.cpp, branch merge-dev,
// ggml/include/ggml.h has I2_S 36, I8_S 37, TL1 38, TL2 39; the fork that microsoft/BitNet has used
// since 2026 has TL2 at 42. Elsewhere 36 to 38 were IQ4_NL_4_4, _4_8 and _8_8 for some weeks of
// 2024 and 39 is MXFP4, so these numbers do not tell a size.
constexpr Type kTypes[] = {
    {0, "F32", 1, 4},
    {1, "F16", 1, 2},
    {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},
    {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},
    {9, "Q8_1", 32, 40},
    {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},
    {12, "Q4_K", 256, 144},
    {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},
    {15, "Q8_K", 256, 292},
    {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},
    {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136},
    {24, "I8", 1, 1},
    {25, "I16", 1, 2},
    {26, "I32", 1, 4},
    {27, "I64", 1, 8},
    {28, "F64", 1, 8},
    {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2},
    {31, "Q4_0_4_4", 32, 18},
    {32, "Q4_0_4_8", 32, 18},
    {33, "Q4_0_8_8", 32, 18},
    {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},
    {36, "I2_S", 0, 0},
    {37, "I8_S", 0, 0},
    {38, "TL1", 0, 0},
    {39, "TL2 or MXFP4", 0, 0},
    {40, "NVFP4", 64, 36},
    {41, "Q1_0", 128, 18},
    {42, "TL2", 0, 0},
    // Only of safetensors (huggingface/safetensors, safetensors/src/tensor.rs, Dtype); the first
    // is transformers' packed weights.
    {kPackedU8, "packed U8", 4, 1},
    {kOfSafetensors + 1, "U8", 1, 1},
    {kOfSafetensors + 2, "BOOL", 1, 1},
    {kOfSafetensors + 3, "U16", 1, 2},
    {kOfSafetensors + 4, "U32", 1, 4},
    {kOfSafetensors + 5, "U64", 1, 8},
    {kOfSafetensors + 6, "F8_E4M3", 1, 1},
    {kOfSafetensors + 7, "F8_E5M2", 1, 1},
};

// File types: LLAMA_FTYPE_MOSTLY_* of the same sources, include/llama.h. Number 40 is MOSTLY_Q1_0
// in ggml-org/llama.cpp since 2026, which reads no I2_S.
// BitNet.rs' reader of GGUF files takes other codes than its kernels.
constexpr Stored stored(FormatId format, std::uint32_t type, std::uint32_t file_type) {
  return {format, format, type, file_type};
}
constexpr Stored kStored[] = {
    stored(FormatId::i2s_x86, kI2s, 40),
    stored(FormatId::i2s_arm, kI2s, 40),
    stored(FormatId::i2s_four_row, kI2s, 40),
    {FormatId::i2s_bitnet_rs, FormatId::i2s_bitnet_rs_split, kI2s, 40},
    stored(FormatId::i2s_bitnet_rs_split, kI2s, 40),
    stored(FormatId::i2s_bitnet_rs_inline, kI2s, 40),
    stored(FormatId::i2s_qk256, kI2s, 40),
    stored(FormatId::tl1_bitnet_cpp, kTl1, 38),
    stored(FormatId::tl1_bitnet_cpp_setup, kTl1, 38),
    stored(FormatId::tl2_bitnet_cpp, kTl2, 39),
    stored(FormatId::tq1_0, kTq1, 36),
    stored(FormatId::tq2_0, kTq2, 37),
    {FormatId::bitnet_hf, FormatId::bitnet_hf, kPackedU8, 0, Container::safetensors},
};

}  // namespace

const Type* find_type(std::uint32_t number) {
  const Type* found =
      std::ranges::find_if(kTypes, [&](const Type& type) { return type.number == number; });
  return found == std::end(kTypes) ? nullptr : found;
}

const Type* find_plain_type(std::string_view name) {
  const Type* found = std::ranges::find_if(
      kTypes, [&](const Type& type) { return type.block == 1 && type.name == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

bool holds(Container container, std::uint32_t type) {
  if (container == Container::gguf) return type < kOfSafetensors;
  const Type* found = find_type(type);
  return found != nullptr && (found->block == 1 || type == kPackedU8);
}

std::string type_name(std::uint32_t number) {
  const Type* type = find_type(number);
  return type != nullptr ? std::string(type->name) : "type " + std::to_string(number);
}

std::optional<FloatType> float_type(std::uint32_t number) {
  if (number == kF32) return FloatType::f32;
  if (number == kF16) return FloatType::f16;
  if (number == kBf16) return FloatType::bf16;
  return std::nullopt;
}

std::span<const Stored> stored_formats() { return kStored; }

std::optional<Stored> stored_as(FormatId format) {
  for (const Stored& stored : kStored)
    if (stored.asked == format) return stored;
  return std::nullopt;
}

}  // namespace gpuready::ternary::gguf
