// The table of formats.
#include <array>

#include "ternary/layout.h"
#include "ternary/shape.h"

namespace gpuready::ternary {
namespace {

constexpr std::string_view kMad = "microsoft/BitNet src/ggml-bitnet-mad.cpp, quantize_i2_s";
constexpr std::string_view kConvert = "microsoft/BitNet utils/convert-hf-to-gguf-bitnet.py";
constexpr std::string_view kRust =
    "EffortlessMetrics/BitNet-rs crates/bitnet-kernels/src/cpu/fallback.rs";
constexpr std::string_view kRustFiles =
    "EffortlessMetrics/BitNet-rs crates/bitnet-models/src/gguf_simple.rs, "
    "crates/bitnet-quantization/src/utils.rs";
constexpr std::string_view kGgml = "ggml-org/llama.cpp ggml/src/ggml-quants.c, ggml-common.h";

constexpr ScaleGranularity kTensor = ScaleGranularity::tensor, kBlock = ScaleGranularity::block;
constexpr ScaleType kF32 = ScaleType::f32, kF16 = ScaleType::f16;

// In the order of FormatId: id, name, family, block, scales, scale_block, scale_type,
// scales_inside, four_levels, needs_tiling, bits_per_weight, layout, source.
constexpr std::array kFormats{
    Format{
        FormatId::i2s_x86, "i2_s-x86", "I2_S", 128, kTensor, 0, kF32, true, false, false, 2,
        "byte j of 32: weight j in bits 7-6, 32+j in 5-4, 64+j in 3-2, 96+j in 1-0; codes w + 1; "
        "an f32 scale behind the codes, 32 bytes in all with its padding",
        kMad},
    Format{FormatId::i2s_arm, "i2_s-arm", "I2_S", 64, kTensor, 0, kF32, true, false, false, 2,
           "byte j of 16: weight j in bits 7-6, 16+j in 5-4, 32+j in 3-2, 48+j in 1-0; else as x86",
           kMad},
    Format{
        FormatId::i2s_four_row, "i2_s-four-row", "I2_S", 4, kTensor, 0, kF32, true, false, false, 2,
        "a byte is one column of four rows: row 0 in bits 7-6 to row 3 in 1-0; columns of a group "
        "of four rows in order; scale as x86",
        kMad},
    Format{FormatId::i2s_bitnet_rs, "i2_s-bitnet-rs", "I2_S", 32, kBlock, 32, kF32, false, false,
           false, 2, "four a byte, lowest bits first; code 0 is 0, 1 is +1, 3 is -1", kRust},
    Format{FormatId::tl1_bitnet_cpp, "tl1-bitnet.cpp", "TL1", 2, kTensor, 0, kF32, false, false,
           true, 2, "an index 3 * w0 + w1 + 4 for two weights in four bits, in tiles", kConvert},
    Format{
        FormatId::tl2_bitnet_cpp, "tl2-bitnet.cpp", "TL2", 3, kTensor, 0, kF32, false, false, true,
        5.0 / 3,
        "the magnitude of 9 * w0 + 3 * w1 + w2 in four bits and its sign in one, in tiles; columns "
        "that do not fill a tile of three as in TL1",
        kConvert},
    Format{FormatId::tl1_bitnet_rs, "tl1-bitnet-rs", "TL1", 64, kBlock, 64, kF32, false, true,
           false, 2, "four a byte, lowest bits first; levels -1, -0.33, 0.33, 1", kRust},
    Format{FormatId::tl2_bitnet_rs, "tl2-bitnet-rs", "TL2", 128, kBlock, 128, kF32, false, true,
           false, 2, "four a byte, lowest bits first; levels -1.2, -0.4, 0.4, 1.2", kRust},
    Format{
        FormatId::tq1_0, "tq1_0", "TQ1_0", 256, kBlock, 256, kF16, true, false, false, 1.6875,
        "48 bytes of five trits, 4 bytes of four, an f16 scale; a byte is ceil(v * 256 / 243) of "
        "the trits' value v, most significant first",
        kGgml},
    Format{
        FormatId::tq2_0, "tq2_0", "TQ2_0", 256, kBlock, 256, kF16, true, false, false, 2.0625,
        "element n in byte 32 * (n / 128) + n % 32 at bit 2 * (n % 128 / 32); codes w + 1; an f16 "
        "scale",
        kGgml},
    Format{
        FormatId::w2a8_gpu, "w2a8-gpu", "W2A8", 512, kTensor, 0, kF32, false, false, false, 2,
        "codes w + 2 of permuted tiles of 16 rows by 32 columns; the 16 codes of a 32-bit word in "
        "the order 0, 4, 8, 12, 1, 5, ...",
        "microsoft/BitNet gpu/pack_weight.py"},
    Format{FormatId::i2s_bitnet_rs_split, "i2_s-bitnet-rs-split", "I2_S", 32, kBlock, 32, kF32,
           false, false, false, 2, "four a byte, lowest bits first; codes w + 2", kRustFiles},
    Format{FormatId::i2s_bitnet_rs_inline, "i2_s-bitnet-rs-inline", "I2_S", 32, kBlock, 32, kF16,
           true, false, false, 2.5, "8 bytes of four, lowest bits first, codes w + 2; an f16 scale",
           kRustFiles},
    Format{
        FormatId::i2s_qk256, "i2_s-qk256", "I2_S", 256, kTensor, 0, kF32, false, true, false, 2,
        "four a byte, lowest bits first; levels -2, -1, 1, 2; a row is whole blocks of 64 bytes; "
        "no scales",
        "EffortlessMetrics/BitNet-rs crates/bitnet-quantization/src/i2s_qk256.rs"},
    Format{FormatId::bitnet_hf, "bitnet-hf", "packed U8", 4, kTensor, 0, kF32, false, false, false,
           2,
           "a byte is one column of rows r, R/4 + r, R/2 + r and 3R/4 + r, the first in bits 1-0; "
           "codes w + 1",
           "huggingface/transformers src/transformers/integrations/bitnet.py"},
    Format{FormatId::tl1_bitnet_cpp_setup, "tl1-bitnet.cpp-setup", "TL1", 2, kTensor, 0, kF32,
           false, false, true, 2, "as tl1-bitnet.cpp, in the tiles of setup_env.py",
           "microsoft/BitNet setup_env.py, utils/convert-hf-to-gguf-bitnet.py"},
};

// Rows (m), columns (k), bm, bk, bmm of microsoft/BitNet, commit 16da220. tl1_bitnet_cpp and
// tl2_bitnet_cpp: preset_kernels/*/kernel_config_tl1.ini and _tl2.ini. tl1_bitnet_cpp_setup: what
// setup_env.py passes to its generator of kernels, which writes kernel_config.ini before
// the converter reads it. Its TL2 tilings are those of the presets but for 4096 x 1536, whose
// preset (bmm 64) the converter cannot pack.
struct Preset {
  FormatId id;
  Shape shape;
  Tiling tiling;
};
constexpr Preset kPresets[] = {
    {FormatId::tl1_bitnet_cpp, {1536, 4096}, {256, 128, 32}},
    {FormatId::tl1_bitnet_cpp, {1536, 1536}, {128, 64, 64}},
    {FormatId::tl1_bitnet_cpp, {4096, 1536}, {256, 128, 32}},
    {FormatId::tl1_bitnet_cpp, {3200, 8640}, {160, 64, 32}},
    {FormatId::tl1_bitnet_cpp, {3200, 3200}, {320, 128, 64}},
    {FormatId::tl1_bitnet_cpp, {8640, 3200}, {320, 64, 32}},
    {FormatId::tl1_bitnet_cpp, {14336, 4096}, {256, 128, 64}},
    {FormatId::tl1_bitnet_cpp, {4096, 14336}, {256, 128, 32}},
    {FormatId::tl1_bitnet_cpp, {1024, 4096}, {128, 64, 64}},
    {FormatId::tl1_bitnet_cpp, {4096, 4096}, {128, 64, 32}},
    {FormatId::tl1_bitnet_cpp_setup, {1536, 4096}, {256, 128, 32}},
    {FormatId::tl1_bitnet_cpp_setup, {1536, 1536}, {128, 64, 64}},
    {FormatId::tl1_bitnet_cpp_setup, {4096, 1536}, {256, 128, 32}},
    {FormatId::tl1_bitnet_cpp_setup, {3200, 8640}, {160, 64, 32}},
    {FormatId::tl1_bitnet_cpp_setup, {3200, 3200}, {320, 128, 64}},
    {FormatId::tl1_bitnet_cpp_setup, {8640, 3200}, {320, 64, 32}},
    {FormatId::tl1_bitnet_cpp_setup, {14336, 4096}, {256, 128, 32}},
    {FormatId::tl1_bitnet_cpp_setup, {4096, 14336}, {128, 64, 64}},
    {FormatId::tl1_bitnet_cpp_setup, {1024, 4096}, {256, 128, 32}},
    {FormatId::tl1_bitnet_cpp_setup, {4096, 4096}, {128, 64, 64}},
    {FormatId::tl2_bitnet_cpp, {1536, 4096}, {256, 96, 32}},
    {FormatId::tl2_bitnet_cpp, {1536, 1536}, {128, 192, 32}},
    {FormatId::tl2_bitnet_cpp, {4096, 1536}, {256, 96, 32}},
    {FormatId::tl2_bitnet_cpp, {3200, 8640}, {160, 96, 32}},
    {FormatId::tl2_bitnet_cpp, {3200, 3200}, {320, 96, 32}},
    {FormatId::tl2_bitnet_cpp, {8640, 3200}, {320, 96, 32}},
    {FormatId::tl2_bitnet_cpp, {14336, 4096}, {256, 96, 32}},
    {FormatId::tl2_bitnet_cpp, {4096, 14336}, {128, 96, 32}},
    {FormatId::tl2_bitnet_cpp, {1024, 4096}, {256, 96, 32}},
    {FormatId::tl2_bitnet_cpp, {4096, 4096}, {128, 96, 32}},
};

}  // namespace

std::span<const Format> v0::formats() { return kFormats; }
const Format& v0::format(FormatId id) {
  static constexpr Format kNone = [] {
    Format none;
    none.name = "unknown format";
    return none;
  }();
  const auto index = static_cast<std::size_t>(id);
  return index < kFormats.size() ? kFormats[index] : kNone;
}

Result<FormatId> v0::find_format(std::string_view name) {
  const Format* family = nullptr;
  std::string names;
  int shared = 0;
  for (const Format& f : kFormats) {
    if (f.name == name) return f.id;
    if (f.family != name) continue;
    family = &f;
    names += (shared++ > 0 ? ", " : "") + std::string(f.name);
  }
  if (shared == 1) return family->id;
  if (shared > 1) {
    return fail(ErrorKind::ambiguous_format,
                std::string(name) + " is the name of several layouts; name one of " + names);
  }
  return fail(ErrorKind::unknown_format, "no format is called \"" + std::string(name) + "\"");
}

std::optional<Tiling> v0::published_tiling(FormatId id, Shape shape) {
  for (const Preset& preset : kPresets) {
    if (preset.id == id && preset.shape == shape) return preset.tiling;
  }
  return std::nullopt;
}

}  // namespace gpuready::ternary
