// Formats against bytes that their own tools wrote: only the hashes of those are kept here.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "gpuready/ternary.h"
#include "ternary/floats.h"

namespace gpuready::ternary {
namespace {

// The generator that the inputs of the recorded hashes came from.
struct Recipe {
  std::uint32_t state = 12345;
  std::uint32_t next() {
    state = (state * 1103515245u + 12345u) & 0x7FFFFFFFu;
    return state >> 16;
  }
};

std::uint64_t fnv1a(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}
std::uint64_t fnv1a(std::span<const float> values) {
  return fnv1a(std::span(reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * 4));
}

Codes recipe_codes(Shape shape, float scale = 0.75f) {
  Codes codes;
  codes.shape = shape;
  codes.scales = {scale};
  Recipe recipe;
  for (std::int64_t i = 0; i < shape.rows * shape.cols; ++i) {
    codes.values.push_back(static_cast<std::int8_t>(static_cast<int>(recipe.next() % 3) - 1));
  }
  return codes;
}
std::vector<float> recipe_values() {
  std::vector<float> values(4 * 512);
  Recipe recipe;
  for (float& v : values) {
    v = static_cast<float>(static_cast<int>(recipe.next() % 2001) - 1000) / 1000.0f * 0.8f;
  }
  return values;
}

constexpr FormatId kTernary[] = {FormatId::i2s_x86,
                                 FormatId::i2s_arm,
                                 FormatId::i2s_four_row,
                                 FormatId::i2s_bitnet_rs,
                                 FormatId::tl1_bitnet_cpp,
                                 FormatId::tl2_bitnet_cpp,
                                 FormatId::tq1_0,
                                 FormatId::tq2_0,
                                 FormatId::w2a8_gpu,
                                 FormatId::i2s_bitnet_rs_split,
                                 FormatId::i2s_bitnet_rs_inline,
                                 FormatId::bitnet_hf,
                                 FormatId::tl1_bitnet_cpp_setup};
constexpr Shape kAllFit{96, 512};  // holds whole blocks and tiles of all of them

TEST(TernaryFormats, TableIsInTheOrderOfIdsWithUniqueNames) {
  for (std::size_t i = 0; i < formats().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(formats()[i].id), i);
    EXPECT_EQ(find_format(formats()[i].name), formats()[i].id);
    EXPECT_FALSE(formats()[i].source.empty());
  }
  EXPECT_EQ(formats().size(), 16u);
}

TEST(TernaryFormats, SharedNameIsAmbiguousAndListsTheLayouts) {
  const auto found = find_format("I2_S");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::ambiguous_format);
  EXPECT_NE(found.error().message.find("i2_s-arm"), std::string::npos);
  EXPECT_EQ(find_format("TQ1_0"), FormatId::tq1_0);
  EXPECT_EQ(find_format("Q4_0").error().kind, ErrorKind::unknown_format);
}

TEST(TernaryFormats, EveryConversionKeepsEveryWeight) {
  const Codes codes = recipe_codes(kAllFit);  // 0.75 is an f16 number
  for (const FormatId from : kTernary) {
    const auto first = encode(codes, from);
    ASSERT_TRUE(first) << first.error().message;
    for (const FormatId to : kTernary) {
      const auto second = convert(*first, to);
      ASSERT_TRUE(second) << second.error().message;
      const auto back = decode(*second);
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(back->values, codes.values) << format(from).name << " to " << format(to).name;
      const auto values = dequantise(*second);
      ASSERT_TRUE(values);
      bool same = true;
      for (std::size_t i = 0; i < values->size(); ++i) {
        same &= (*values)[i] == 0.75f * static_cast<float>(codes.values[i]);
      }
      EXPECT_TRUE(same) << format(to).name;
    }
  }
}

TEST(TernaryFormats, I2sBytesAreThoseOfBitnetCpp) {
  std::vector<float> values;
  for (const std::int8_t code : recipe_codes({4, 512}).values) values.push_back(0.75f * code);
  const auto planar = quantise(FloatView(values), {4, 512}, FormatId::i2s_x86);
  const auto four_row = quantise(FloatView(values), {4, 512}, FormatId::i2s_four_row);
  ASSERT_TRUE(planar && four_row);
  EXPECT_EQ(planar->bytes.size(), 544u);
  // Codes and scale; what pads the scale to 32 bytes is not written there.
  EXPECT_EQ(fnv1a(std::span(planar->bytes).first(516)), 0x82ed144cd417dc41u);
  EXPECT_EQ(fnv1a(std::span(four_row->bytes).first(516)), 0xe008e84ad5df3692u);
}

TEST(TernaryFormats, I2sArmBlockIsPlanarInSixteenBytes) {
  Codes codes = recipe_codes({1, 64});
  codes.values.assign(64, 0);
  codes.values[3] = 1;    // bits 7-6 of byte 3: code 2
  codes.values[19] = -1;  // bits 5-4 of byte 3: code 0
  const auto encoded = encode(codes, FormatId::i2s_arm);
  ASSERT_TRUE(encoded);
  EXPECT_EQ(encoded->bytes[3], 0b10'00'01'01);
  EXPECT_EQ(encoded->bytes[4], 0b01'01'01'01);
}

TEST(TernaryFormats, Tl1BytesAreThoseOfBitnetCpp) {
  struct {
    Shape shape;
    Tiling tiling;
    std::uint64_t hash;
  } const cases[] = {{{128, 256}, {64, 64, 32}, 0xa66abc3db5fd5191u},
                     {{128, 256}, {128, 128, 64}, 0x7cc2c8f7166094bdu},
                     {{64, 64}, {32, 32, 16}, 0x4dbd57a2950af014u}};
  for (const auto& c : cases) {
    const auto encoded = encode(recipe_codes(c.shape), FormatId::tl1_bitnet_cpp, {c.tiling, false});
    ASSERT_TRUE(encoded) << encoded.error().message;
    EXPECT_EQ(fnv1a(encoded->bytes), c.hash);
  }
}

TEST(TernaryFormats, Tl2BytesAreThoseOfBitnetCpp) {
  struct {
    Shape shape;
    Tiling tiling;
    std::size_t bytes;
    std::uint64_t hash;
  } const cases[] = {{{64, 320}, {32, 96, 32}, 4949, 0x740e8cb3e04ebbabu},
                     {{128, 384}, {64, 96, 32}, 11605, 0x3bb5bf5fab686995u},
                     {{64, 416}, {64, 192, 32}, 6229, 0xb8d33b7a30fd9ad2u}};
  for (const auto& c : cases) {
    const auto encoded = encode(recipe_codes(c.shape), FormatId::tl2_bitnet_cpp, {c.tiling, false});
    ASSERT_TRUE(encoded) << encoded.error().message;
    EXPECT_EQ(encoded->bytes.size(), c.bytes);
    EXPECT_EQ(fnv1a(encoded->bytes), c.hash);
  }
}

// What the converter wrote for the tilings of preset_kernels and of setup_env.py.
TEST(TernaryFormats, BytesAreThoseOfBitnetCppInEachPublishedTiling) {
  constexpr auto kPreset = FormatId::tl1_bitnet_cpp, kSetup = FormatId::tl1_bitnet_cpp_setup;
  struct {
    FormatId id;
    Shape shape;
    std::uint64_t hash;
  } const cases[] = {{kPreset, {1024, 4096}, 0xab465e4e0dce3b1fu},
                     {kSetup, {1024, 4096}, 0x72288d6af36e12a7u},
                     {FormatId::tl2_bitnet_cpp, {4096, 1536}, 0x47915b8c238b8eb1u}};
  for (const auto& c : cases) {
    ASSERT_TRUE(published_tiling(c.id, c.shape)) << format(c.id).name;
    const auto encoded = encode(recipe_codes(c.shape), c.id);
    ASSERT_TRUE(encoded) << encoded.error().message;
    EXPECT_EQ(fnv1a(encoded->bytes), c.hash)
        << format(c.id).name << " of " << c.shape.rows << " x " << c.shape.cols;
  }
  EXPECT_EQ(published_tiling(kPreset, {4096, 4096}), (Tiling{128, 64, 32}));
  EXPECT_EQ(published_tiling(kSetup, {4096, 4096}), (Tiling{128, 64, 64}));
  EXPECT_EQ(published_tiling(kPreset, {14336, 4096}), (Tiling{256, 128, 64}));
  EXPECT_EQ(published_tiling(kSetup, {14336, 4096}), (Tiling{256, 128, 32}));
  EXPECT_EQ(published_tiling(kPreset, {4096, 14336}), (Tiling{256, 128, 32}));
  EXPECT_EQ(published_tiling(kSetup, {4096, 14336}), (Tiling{128, 64, 64}));
}

TEST(TernaryFormats, PublishedTilingsFitTheirShapes) {
  for (const FormatId id :
       {FormatId::tl1_bitnet_cpp, FormatId::tl1_bitnet_cpp_setup, FormatId::tl2_bitnet_cpp}) {
    for (const Shape shape : {Shape{3200, 8640}, Shape{3200, 3200}, Shape{8640, 3200},
                              Shape{14336, 4096}, Shape{1024, 4096}, Shape{1536, 1536}}) {
      const auto tiling = published_tiling(id, shape);
      ASSERT_TRUE(tiling);
      EXPECT_TRUE(encoded_bytes(id, shape, *tiling)) << shape.rows << " x " << shape.cols;
    }
    EXPECT_FALSE(published_tiling(id, {96, 512}));
  }
}

TEST(TernaryFormats, W2a8BytesAreThoseOfBitnetCppsPacker) {
  const auto encoded = encode(recipe_codes({32, 96}), FormatId::w2a8_gpu);
  ASSERT_TRUE(encoded);
  EXPECT_EQ(fnv1a(encoded->bytes), 0x5b0ad894219c5f2bu);
}

TEST(TernaryFormats, TqBytesAndValuesAreThoseOfGgml) {
  const std::vector<float> values = recipe_values();
  const auto tq1 = quantise(FloatView(values), {4, 512}, FormatId::tq1_0);
  const auto tq2 = quantise(FloatView(values), {4, 512}, FormatId::tq2_0);
  ASSERT_TRUE(tq1 && tq2);
  EXPECT_EQ(fnv1a(tq1->bytes), 0xef6ada037e7b6f4eu);
  EXPECT_EQ(fnv1a(tq2->bytes), 0x48392c0e7ff29f46u);
  EXPECT_EQ(fnv1a(*dequantise(*tq1)), 0x3bd638d0addf58a3u);
  EXPECT_EQ(fnv1a(*dequantise(*tq2)), 0x3bd638d0addf58a3u);
}

TEST(TernaryFormats, Tq1DecodesAllByteValuesAsGgmlDoes) {
  std::vector<std::uint8_t> bytes;
  for (int value = 0; value < 256; ++value) {
    bytes.insert(bytes.end(), 52, static_cast<std::uint8_t>(value));
    bytes.push_back(0x00);
    bytes.push_back(0x3C);  // 1.0
  }
  const auto values = dequantise(EncodedView(FormatId::tq1_0, {256, 256}, {}, bytes, {}));
  ASSERT_TRUE(values);
  EXPECT_EQ(fnv1a(*values), 0x337df298d16f6925u);
}

TEST(TernaryFormats, Tq1HoldsAll243CombinationsOfFiveTrits) {
  // Byte 0's trits are weights 0, 32, 64, 96 and 128 of a block.
  std::vector<bool> seen(256);
  for (int combination = 0; combination < 243; ++combination) {
    Codes codes = recipe_codes({1, 256}, 1.0f);
    for (int t = 0, rest = combination; t < 5; ++t, rest /= 3) {
      codes.values[static_cast<std::size_t>(32 * t)] = static_cast<std::int8_t>(rest % 3 - 1);
    }
    const auto encoded = encode(codes, FormatId::tq1_0);
    ASSERT_TRUE(encoded);
    EXPECT_FALSE(seen[encoded->bytes[0]]);
    seen[encoded->bytes[0]] = true;
    EXPECT_EQ(decode(*encoded)->values, codes.values);
  }
}

TEST(TernaryFormats, BitnetRsBlocksMayEndAnywhere) {
  for (std::int64_t count = 1; count < 70; ++count) {
    const Codes codes = recipe_codes({1, count});
    const auto encoded = encode(codes, FormatId::i2s_bitnet_rs);
    ASSERT_TRUE(encoded);
    EXPECT_EQ(encoded->bytes.size(), static_cast<std::size_t>((count + 3) / 4));
    EXPECT_EQ(encoded->scales.size(), static_cast<std::size_t>((count + 31) / 32));
    EXPECT_EQ(decode(*encoded)->values, codes.values);
  }
}

TEST(TernaryFormats, FourLevelFormatsDequantiseButNeverPassForTernary) {
  const std::vector<float> values = {1.5f, -1.5f, 0.4f, -0.4f, 0.0f, 0.9f};
  for (const FormatId id : {FormatId::tl1_bitnet_rs, FormatId::tl2_bitnet_rs}) {
    const auto encoded = quantise(FloatView(values), {1, 6}, id);
    ASSERT_TRUE(encoded) << encoded.error().message;
    EXPECT_EQ(decode(*encoded).error().kind, ErrorKind::not_ternary);
    EXPECT_EQ(encode(recipe_codes({1, 6}), id).error().kind, ErrorKind::not_ternary);
    const auto back = dequantise(*encoded);
    ASSERT_TRUE(back);
    EXPECT_GT((*back)[0], 0.0f);
    EXPECT_NE((*back)[4], 0.0f);  // there is no zero
  }
  const auto tl1 = quantise(FloatView(values), {1, 6}, FormatId::tl1_bitnet_rs);
  EXPECT_EQ(tl1->bytes, (std::vector<std::uint8_t>{0b01'10'00'11, 0b11'01}));
}

// Worked out by hand from the layouts of docs/ternary.md.
TEST(TernaryFormats, BitnetRsFilesHoldCodesFromOneLowestBitsFirst) {
  Codes codes{{1, 32}, std::vector<std::int8_t>(32, 0), 32, {0.5f}};
  codes.values[0] = -1, codes.values[1] = 1, codes.values[7] = 1;
  const auto split = encode(codes, FormatId::i2s_bitnet_rs_split);
  ASSERT_TRUE(split) << split.error().message;
  const std::vector<std::uint8_t> bytes = {0b10'10'11'01, 0b11'10'10'10, 0xAA, 0xAA,
                                           0xAA,          0xAA,          0xAA, 0xAA};
  EXPECT_EQ(split->bytes, bytes);
  EXPECT_EQ(split->scales, std::vector<float>{0.5f});
  const auto inside = encode(codes, FormatId::i2s_bitnet_rs_inline);
  ASSERT_TRUE(inside) << inside.error().message;
  std::vector<std::uint8_t> with_scale = bytes;
  with_scale.insert(with_scale.end(), {0x00, 0x38});  // 0.5 as f16
  EXPECT_EQ(inside->bytes, with_scale);
  EXPECT_TRUE(inside->scales.empty());
}

// The example of transformers' unpack_weights().
TEST(TernaryFormats, TransformersBytesHoldRowsAQuarterOfThemApart) {
  const std::vector<std::uint8_t> packed = {0b10100001, 0b00011000, 0b10010000, 0b00001010};
  const std::vector<float> scale = {2.0f};
  const auto codes = decode({FormatId::bitnet_hf, {8, 2}, {}, packed, scale});
  ASSERT_TRUE(codes) << codes.error().message;
  EXPECT_EQ(codes->values,
            (std::vector<std::int8_t>{0, -1, -1, 1, -1, 1, -1, 1, 1, 0, 0, -1, 1, -1, 1, -1}));
  const auto again = encode(*codes, FormatId::bitnet_hf);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->bytes, packed);
  EXPECT_EQ(again->scales, scale);
}

TEST(TernaryFormats, Qk256IsTernaryOnlyIfAllWeightsHaveOneMagnitude) {
  Codes codes{{2, 300}, std::vector<std::int8_t>(600, 1), 0, {2.0f}};
  codes.values[1] = -1;
  const auto encoded = encode(codes, FormatId::i2s_qk256);
  ASSERT_TRUE(encoded) << encoded.error().message;
  ASSERT_EQ(encoded->bytes.size(), 256u);  // two rows of two blocks
  EXPECT_EQ(encoded->bytes[0], 0b11'11'00'11);
  EXPECT_EQ(encoded->bytes[128], 0xFF);
  EXPECT_TRUE(encoded->scales.empty());
  const auto back = decode(*encoded);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->values, codes.values);
  EXPECT_EQ(back->scales, codes.scales);
  EXPECT_EQ((*dequantise(*encoded))[1], -2.0f);

  Encoded mixed = *encoded;
  mixed.bytes[0] ^= 0b01;  // -2 and 1 and 2
  EXPECT_EQ(decode(mixed).error().kind, ErrorKind::not_ternary);
  EXPECT_TRUE(dequantise(mixed));
  codes.values[5] = 0;
  EXPECT_EQ(encode(codes, FormatId::i2s_qk256).error().kind, ErrorKind::not_representable);
  codes.values[5] = 1, codes.scales = {0.5f};
  EXPECT_EQ(encode(codes, FormatId::i2s_qk256).error().kind, ErrorKind::not_representable);
  EXPECT_EQ(quantise(FloatView(recipe_values()), {4, 512}, FormatId::i2s_qk256).error().kind,
            ErrorKind::not_ternary);
}

TEST(TernaryFormats, ScalesThatDifferDoNotFitOneForTheTensor) {
  Codes codes = recipe_codes({2, 256});
  codes.scale_block = 256;
  codes.scales = {1.0f, 2.0f};
  EXPECT_TRUE(encode(codes, FormatId::tq2_0));
  EXPECT_EQ(encode(codes, FormatId::i2s_x86).error().kind, ErrorKind::not_representable);
  // A block of zeros is zero at any scale.
  std::fill(codes.values.begin(), codes.values.begin() + 256, std::int8_t{0});
  const auto encoded = encode(codes, FormatId::i2s_x86);
  ASSERT_TRUE(encoded);
  EXPECT_EQ(decode(*encoded)->scales[0], 2.0f);
}

TEST(TernaryFormats, ABlockOfAnySizeHasAScale) {
  Codes codes;
  codes.shape = {1, 128};
  codes.values.assign(128, 1);
  const auto said = [&](std::int64_t block, std::size_t scales) {
    codes.scale_block = block;
    codes.scales.assign(scales, 0.5f);
    const auto encoded = encode(codes, FormatId::i2s_x86);
    if (!encoded) return encoded.error().message;
    EXPECT_EQ(decode(*encoded)->scales, std::vector<float>{0.5f});
    return std::string();
  };
  for (const auto& [block, scales] :
       {std::pair(0, 1u), {1, 128u}, {2, 64u}, {100, 2u}, {127, 2u}, {128, 1u}, {200, 1u}}) {
    const auto wrong =
        "a shape of 1 x 128 needs 128 codes and " + std::to_string(scales) + " scales";
    EXPECT_EQ(said(block, scales), "") << block;
    EXPECT_EQ(said(block, scales + 1), wrong);
    EXPECT_EQ(said(block, scales - 1), wrong);
  }
  EXPECT_NE(said(-1, 1), "");
  codes.values.pop_back();
  EXPECT_EQ(said(0, 1), "a shape of 1 x 128 needs 128 codes and 1 scales");
}

TEST(TernaryFormats, I2sWithANegativeScaleWouldNotBeReadAgainAndIsRefused) {
  const Codes codes = recipe_codes({4, 256}, -0.5f);
  for (const FormatId id : {FormatId::i2s_x86, FormatId::i2s_arm, FormatId::i2s_four_row})
    EXPECT_EQ(encode(codes, id).error().kind, ErrorKind::not_representable);
  EXPECT_TRUE(encode(codes, FormatId::tq2_0));
}

TEST(TernaryFormats, ScaleThatIsNoF16NumberIsRefusedUnlessRoundingIsAsked) {
  const Codes codes = recipe_codes({1, 256}, 0.1f);
  EXPECT_EQ(encode(codes, FormatId::tq1_0).error().kind, ErrorKind::not_representable);
  EXPECT_TRUE(encode(codes, FormatId::tq1_0, {std::nullopt, true}));
  for (const float lost : {1e6f, 1e-9f}) {
    const auto encoded =
        encode(recipe_codes({1, 256}, lost), FormatId::tq1_0, {std::nullopt, true});
    EXPECT_EQ(encoded.error().kind, ErrorKind::not_representable);
  }
}

TEST(TernaryFormats, BytesThatEndEarlyOrAreTooManyAreTold) {
  for (const FormatId id : kTernary) {
    auto encoded = encode(recipe_codes(kAllFit), id);
    ASSERT_TRUE(encoded);
    encoded->bytes.push_back(0);
    EXPECT_EQ(decode(*encoded).error().kind, ErrorKind::wrong_size) << format(id).name;
    encoded->bytes.resize(encoded->bytes.size() - 2);
    EXPECT_EQ(decode(*encoded).error().kind, ErrorKind::truncated) << format(id).name;
    EXPECT_EQ(dequantise(*encoded).error().kind, ErrorKind::truncated) << format(id).name;
  }
}

TEST(TernaryFormats, ShapesThatDoNotFillBlocksAreRefused) {
  for (const FormatId id : kTernary) {
    if (id == FormatId::i2s_bitnet_rs || id == FormatId::i2s_bitnet_rs_split)
      continue;  // they hold any shape
    EXPECT_EQ(encode(recipe_codes({7, 33}), id).error().kind, ErrorKind::wrong_size);
  }
  EXPECT_EQ(encoded_bytes(FormatId::tq1_0, {0, 256}).error().kind, ErrorKind::wrong_size);
  EXPECT_EQ(encoded_bytes(FormatId::tq1_0, {1 << 30, std::int64_t{1} << 40}).error().kind,
            ErrorKind::too_large);
}

TEST(TernaryFormats, TheFirstUndefinedCodeIsNamedWhateverTheThreads) {
  Codes codes = recipe_codes({1031, 512});  // more blocks than one thread takes at once
  codes.scales.assign(1, 0.5f);
  EncodeOptions one, three;
  one.threads = 1;
  three.threads = 3;
  const auto whole = encode(codes, FormatId::tq2_0, one);
  ASSERT_TRUE(whole);
  const auto shared = encode(codes, FormatId::tq2_0, three);
  ASSERT_TRUE(shared);
  EXPECT_EQ(whole->bytes, shared->bytes);
  EXPECT_EQ(decode(*shared, 3)->values, codes.values);
  auto bad = *shared;
  bad.bytes[2000 * 66 + 32 + 7] |= 0xC0;  // weight 128 + 96 + 7 of block 2000
  for (const unsigned threads : {1u, 3u}) {
    const auto decoded = decode(bad, threads);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().kind, ErrorKind::bad_code);
    EXPECT_NE(decoded.error().message.find("weight 512231"), std::string::npos)
        << decoded.error().message;
  }
  codes.values[512231] = 2;
  const auto refused = encode(codes, FormatId::tq1_0);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("weight 512231"), std::string::npos)
      << refused.error().message;
}

TEST(TernaryFormats, UndefinedCodesAndScalesThatAreNotFiniteAreTold) {
  for (const FormatId id : kTernary) {
    if (id == FormatId::tq1_0) continue;  // every byte value is defined
    auto encoded = encode(recipe_codes(kAllFit), id);
    ASSERT_TRUE(encoded);
    const bool from_one = id == FormatId::w2a8_gpu || id == FormatId::i2s_bitnet_rs_split ||
                          id == FormatId::i2s_bitnet_rs_inline;  // codes w + 2
    encoded->bytes[5] = id == FormatId::i2s_bitnet_rs ? 0xAA : from_one ? 0 : 0xFF;
    EXPECT_EQ(decode(*encoded).error().kind, ErrorKind::bad_code) << format(id).name;
  }
  Codes codes = recipe_codes(kAllFit, std::numeric_limits<float>::infinity());
  EXPECT_EQ(encode(codes, FormatId::i2s_x86).error().kind, ErrorKind::not_finite);
  auto encoded = encode(recipe_codes(kAllFit), FormatId::i2s_x86);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(encoded->bytes.data() + encoded->bytes.size() - 32, &nan, 4);
  EXPECT_EQ(decode(*encoded).error().kind, ErrorKind::not_finite);
}

TEST(TernaryFormats, BytesOfAnyContentNeverBreakTheDecoder) {
  std::mt19937 random(3);
  for (const Format& f : formats()) {
    for (int round = 0; round < 20; ++round) {
      Encoded encoded;
      encoded.format = f.id;
      encoded.shape = kAllFit;
      if (f.needs_tiling) encoded.tiling = encode(recipe_codes(kAllFit), f.id)->tiling;
      encoded.bytes.resize(*encoded_bytes(f.id, kAllFit, encoded.tiling));
      for (auto& byte : encoded.bytes) byte = static_cast<std::uint8_t>(random());
      if (!f.scales_inside) {
        encoded.scales.assign(f.scale_block == 0 ? 1 : 96 * 512 / f.scale_block, 1.0f);
      }
      const auto codes = decode(encoded);
      if (!codes) continue;
      for (const std::int8_t code : codes->values) ASSERT_TRUE(code >= -1 && code <= 1);
    }
  }
}

TEST(TernaryFormats, HalfPrecisionRoundsToNearestEvenEverywhere) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = f16_to_f32(half);
    if (std::isnan(value)) continue;
    ASSERT_EQ(f32_to_f16(value), half);
    if (std::isinf(value) || (half & 0x7FFF) == 0x7BFF) continue;
    // Between this and the next number: the even one at the middle, the nearer one beside it.
    const float next = f16_to_f32(static_cast<std::uint16_t>(half + 1));
    const float middle = (value + next) / 2;
    ASSERT_EQ(f32_to_f16(middle), half % 2 == 0 ? half : half + 1);
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, value)), half);
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, next)), half + 1);
  }
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);
}

}  // namespace
}  // namespace gpuready::ternary
