#include <gtest/gtest.h>

#include "gguf_builder.h"
#include "ternary/gguf/gguf_inspect.h"

namespace gpuready::ternary::gguf {
namespace {

bool possible(const std::vector<Candidate>& all, std::string_view name) {
  for (const Candidate& candidate : all)
    if (candidate.name == name) return candidate.possible;
  ADD_FAILURE() << "no candidate " << name;
  return false;
}

TEST(GgufIdentify, I2sIsAmbiguousAndRefusedUntilItIsNamed) {
  const std::string bytes = sample_file(FormatId::i2s_x86, kI2s).build();
  const auto file = read(bytes_of(bytes));
  ASSERT_TRUE(file);
  const Tensor& tensor = *file->find("w.weight");
  const auto all = candidates(*file, tensor);
  for (const char* name : {"i2_s-x86", "i2_s-arm", "i2_s-four-row"})
    EXPECT_TRUE(possible(all, name)) << name;
  EXPECT_FALSE(possible(all, "i2_s-bitnet-rs"));
  EXPECT_FALSE(possible(all, "IQ4_NL_4_4"));
  const auto unnamed = load(*file, tensor, {});
  ASSERT_FALSE(unnamed);
  EXPECT_EQ(unnamed.error().kind, ErrorKind::ambiguous_format);
  const FormatId layouts[] = {FormatId::i2s_x86};
  const auto loaded = load(*file, tensor, layouts);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(decode(loaded->view())->values, some_codes({16, 512}).values);
}

TEST(GgufIdentify, Code3AndAnUnlikelyScaleExcludeBitnetCpp) {
  Encoded encoded = *encode(some_codes({16, 512}), FormatId::i2s_x86);
  encoded.bytes[7] |= 3;
  Builder builder;
  builder.tensor("code", encoded, kI2s);
  encoded = *encode(some_codes({16, 512}), FormatId::i2s_x86);
  encoded.bytes[encoded.bytes.size() - 29] = 0xFF;  // the scale's sign
  builder.tensor("scale", encoded, kI2s);
  const std::string bytes = builder.build();
  const auto file = read(bytes_of(bytes));
  ASSERT_TRUE(file);
  for (const Tensor& tensor : file->tensors) {
    EXPECT_FALSE(possible(candidates(*file, tensor), "i2_s-x86")) << tensor.name;
    const FormatId layouts[] = {FormatId::i2s_x86};
    EXPECT_EQ(load(*file, tensor, layouts).error().kind, ErrorKind::bad_input);
  }
}

TEST(GgufIdentify, ShapesExcludeLayouts) {
  Builder builder;
  builder.tensor("a", *encode(some_codes({3, 64}), FormatId::i2s_arm), kI2s);
  const std::string bytes = builder.build();
  const auto file = read(bytes_of(bytes));
  const auto all = candidates(*file, file->tensors[0]);
  EXPECT_TRUE(possible(all, "i2_s-arm"));
  EXPECT_FALSE(possible(all, "i2_s-x86"));
  EXPECT_FALSE(possible(all, "i2_s-four-row"));
}

TEST(GgufIdentify, BitnetRsNeedsItsScales) {
  Codes codes = some_codes({4, 256});
  codes.scale_block = 32;
  codes.scales.assign(32, 0.25f);
  const Encoded encoded = *encode(codes, FormatId::i2s_bitnet_rs);
  Builder builder;
  builder.tensor("a", encoded, kI2s).tensor("b", encoded, kI2s);
  std::string scales(128, '\0');
  for (std::size_t i = 3; i < scales.size(); i += 4) scales[i] = '\x3e';
  builder.tensor("b.scale", {32}, kF32, scales);
  const std::string bytes = builder.build();
  const auto file = read(bytes_of(bytes));
  EXPECT_FALSE(possible(candidates(*file, *file->find("a")), "i2_s-bitnet-rs"));
  EXPECT_TRUE(possible(candidates(*file, *file->find("b")), "i2_s-bitnet-rs"));
  EXPECT_FALSE(possible(candidates(*file, *file->find("b")), "i2_s-x86"));
  const FormatId layouts[] = {FormatId::i2s_bitnet_rs};
  const auto loaded = load(*file, *file->find("b"), layouts);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(decode(loaded->view())->values, codes.values);
}

FormatId likely_of(const Builder& builder) {
  const std::string bytes = builder.build();
  const auto file = read(bytes_of(bytes));
  if (!file) {
    ADD_FAILURE() << file.error().message;
    return FormatId::tq1_0;
  }
  const auto likely = likely_layouts(*file, {});
  EXPECT_EQ(likely.size(), 1u);
  return likely.empty() ? FormatId::tq1_0 : likely[0].layout;
}
Encoded one_scale(Shape shape, FormatId id) { return *encode(some_codes(shape), id); }
Codes codes_by_32(Shape shape) {
  Codes codes = some_codes(shape);
  codes.scale_block = 32;
  codes.scales.assign(static_cast<std::size_t>(shape.rows * shape.cols / 32), 0.25f);
  return codes;
}
std::string f32s(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

TEST(GgufIdentify, TheLikelyLayoutIsThatOfBitnetCppsConverterUnlessATensorExcludesIt) {
  Builder builder;
  builder.tensor("a", one_scale({16, 512}, FormatId::i2s_x86), kI2s);
  EXPECT_EQ(likely_of(builder), FormatId::i2s_x86);
  builder.tensor("b", one_scale({1, 64}, FormatId::i2s_arm), kI2s);  // no block of 128
  EXPECT_EQ(likely_of(builder), FormatId::i2s_arm);
}

// Candidates in their order, and how many tensors of the file each fits.
TEST(GgufIdentify, WhyALayoutIsLikelyDependsOnItsBestRival) {
  using Fits = std::vector<std::pair<FormatId, int>>;
  const auto likely = [](const Fits& fits) {
    LayoutTally tally;
    for (const auto& [format, tensors] : fits)
      for (int i = 0; i < std::max(tensors, 1); ++i) {
        const Candidate candidates[] = {{"x", format, tensors > 0, ""}, {"MXFP4", {}, true, ""}};
        tally.add(candidates);
      }
    std::vector<std::pair<FormatId, std::string>> all;
    for (const auto& layout : tally.likely()) {
      all.emplace_back(layout.layout, layout.reason);
      EXPECT_EQ(layout.name, format(layout.layout).name);
      EXPECT_EQ(layout.family, format(layout.layout).family);
    }
    return all;
  };
  using Likely = std::vector<std::pair<FormatId, std::string>>;
  constexpr auto kX86 = FormatId::i2s_x86, kArm = FormatId::i2s_arm,
                 kFourRow = FormatId::i2s_four_row, kSplit = FormatId::i2s_bitnet_rs_split,
                 kQk256 = FormatId::i2s_qk256, kTl1 = FormatId::tl1_bitnet_cpp,
                 kSetup = FormatId::tl1_bitnet_cpp_setup;
  const std::string only = "no other layout fits",
                    most = "no other layout fits more of the file's tensors",
                    on_arm = "bitnet.cpp's quantiser writes it on ARM";
  EXPECT_EQ(likely({}), Likely{});
  EXPECT_EQ(likely({{kX86, 0}}), Likely{});
  EXPECT_EQ(likely({{kX86, 2}, {kArm, 0}}), (Likely{{kX86, only}}));
  EXPECT_EQ(likely({{kX86, 2}, {kArm, 1}}), (Likely{{kX86, most}}));
  EXPECT_EQ(likely({{kX86, 1}, {kArm, 2}, {kFourRow, 1}}), (Likely{{kArm, most}}));
  EXPECT_EQ(likely({{kX86, 2}, {kArm, 2}, {kFourRow, 1}}),
            (Likely{{kX86,
                     "bitnet.cpp's converter writes it on every machine, its quantiser on "
                     "x86-64, and Microsoft's published files have it"}}));
  EXPECT_EQ(likely({{kX86, 1}, {kArm, 2}, {kFourRow, 2}}), (Likely{{kArm, on_arm}}));
  EXPECT_EQ(likely({{kFourRow, 2}, {kArm, 2}}), (Likely{{kFourRow, most}}));
  EXPECT_EQ(likely({{kSplit, 1}, {kQk256, 1}}),
            (Likely{{kSplit, "BitNet.rs reads it from GGUF files"}}));
  EXPECT_EQ(likely({{kX86, 1}, {kTl1, 1}}), (Likely{{kX86, only}, {kTl1, only}}));
  EXPECT_EQ(likely({{kX86, 1}, {kTl1, 2}, {kSetup, 1}}), (Likely{{kX86, only}}));
  EXPECT_EQ(likely({{kTl1, 2}, {kSetup, 0}}), (Likely{{kTl1, only}}));
}

TEST(GgufIdentify, ADamagedTensorDoesNotChangeTheLikelyLayout) {
  Encoded damaged = one_scale({16, 512}, FormatId::i2s_x86);
  damaged.bytes[7] |= 3;
  Builder builder;
  builder.tensor("a", one_scale({16, 512}, FormatId::i2s_x86), kI2s);
  builder.tensor("b", damaged, kI2s);
  EXPECT_EQ(likely_of(builder), FormatId::i2s_x86);
  const std::string bytes = builder.build();
  const auto file = read(bytes_of(bytes));
  const FileReport report = inspect(*file, {});
  EXPECT_EQ(report.tensors[0].problem, "");
  EXPECT_NE(report.tensors[1].problem.find("it cannot be i2_s-x86: code 3"), std::string::npos);
}

TEST(GgufIdentify, BitnetRsLayoutsAreToldApartByCodesScalesAndSize) {
  for (const FormatId id : {FormatId::i2s_bitnet_rs, FormatId::i2s_bitnet_rs_split}) {
    const Encoded encoded = *encode(codes_by_32({4, 256}), id);
    Builder builder;
    builder.tensor("a.weight", encoded, kI2s);
    builder.tensor("a.scale", {32}, kF32, f32s(encoded.scales));
    EXPECT_EQ(likely_of(builder), id) << format(id).name;
  }
  Builder inside;
  inside.tensor("a", *encode(codes_by_32({4, 256}), FormatId::i2s_bitnet_rs_inline), kI2s);
  EXPECT_EQ(likely_of(inside), FormatId::i2s_bitnet_rs_inline);
  Builder levels;
  levels.tensor("a", {256, 4}, kI2s, std::string(256, '\x1B')).tensor("end", {1}, kF32, "1234");
  EXPECT_EQ(likely_of(levels), FormatId::i2s_qk256);
}

Builder tl1_file(Shape shape, FormatId id) {
  Builder builder;
  builder.tensor("a", *encode(some_codes(shape), id), kTl1);
  builder.tensor("a_scale", {1}, kF32, f32s({0.5f}));
  return builder;
}

// bitnet.cpp publishes two tilings for this shape; one permutes the bytes of the other.
TEST(GgufIdentify, Tl1InTwoTilingsIsRefusedUntilOneIsNamed) {
  constexpr Shape kShape{1024, 4096};
  constexpr FormatId kTilings[] = {FormatId::tl1_bitnet_cpp, FormatId::tl1_bitnet_cpp_setup};
  for (const FormatId id : kTilings) {
    const std::string bytes = tl1_file(kShape, id).build();
    const auto file = read(bytes_of(bytes));
    ASSERT_TRUE(file);
    const Tensor& tensor = *file->find("a");
    const auto all = candidates(*file, tensor);
    for (const FormatId other : kTilings) EXPECT_TRUE(possible(all, format(other).name));
    EXPECT_TRUE(likely_layouts(*file, {}).empty());
    const auto unnamed = load(*file, tensor, {});
    ASSERT_FALSE(unnamed);
    EXPECT_EQ(unnamed.error().kind, ErrorKind::ambiguous_format);
    EXPECT_NE(unnamed.error().message.find("tl1-bitnet.cpp, tl1-bitnet.cpp-setup"),
              std::string::npos)
        << unnamed.error().message;
    EXPECT_EQ(unnamed.error().message.find("--"), std::string::npos);
    const FormatId layouts[] = {id};
    const auto loaded = load(*file, tensor, layouts);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_TRUE(decode(loaded->view())->values == some_codes(kShape).values);
    const FileReport report = inspect(*file, {});
    EXPECT_TRUE(report.problems.empty());
    EXPECT_TRUE(report.tensors[0].ambiguous);
    EXPECT_FALSE(report.tensors[0].likely);
    EXPECT_TRUE(report.likely.empty());
  }
}

TEST(GgufIdentify, Tl1InAShapeOfOneTilingIsReadByEitherName) {
  constexpr Shape kShape{1536, 1536};
  const Builder builder = tl1_file(kShape, FormatId::tl1_bitnet_cpp);
  EXPECT_EQ(likely_of(builder), FormatId::tl1_bitnet_cpp);
  const std::string bytes = builder.build();
  const auto file = read(bytes_of(bytes));
  for (const FormatId id : {FormatId::tl1_bitnet_cpp, FormatId::tl1_bitnet_cpp_setup}) {
    const FormatId layouts[] = {id};
    const auto loaded = load(*file, *file->find("a"), layouts);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->format, id);
    EXPECT_TRUE(decode(loaded->view())->values == some_codes(kShape).values);
    EXPECT_TRUE(inspect(*file, layouts).problems.empty());
  }
}

TEST(GgufIdentify, OneTensorOfTwoTilingsLeavesAllTl1OfTheFileOpen) {
  Builder builder = tl1_file({1536, 1536}, FormatId::tl1_bitnet_cpp);
  builder.tensor("b", *encode(some_codes({1536, 1536}), FormatId::tl1_bitnet_cpp), kTl1);
  builder.tensor("b_scale", {1}, kF32, f32s({0.5f}));
  builder.tensor("c", *encode(some_codes({1024, 4096}), FormatId::tl1_bitnet_cpp_setup), kTl1);
  builder.tensor("c_scale", {1}, kF32, f32s({0.5f}));
  const std::string bytes = builder.build();
  EXPECT_TRUE(likely_layouts(*read(bytes_of(bytes)), {}).empty());
}

TEST(GgufIdentify, Mxfp4IsNoTernaryTensor) {
  Builder builder;
  builder.tensor("a", {256, 96}, 39, std::string(256 * 96 / 32 * 17, 'x'));
  const std::string bytes = builder.build();
  const auto file = read(bytes_of(bytes));
  const auto all = candidates(*file, file->tensors[0]);
  EXPECT_TRUE(possible(all, "MXFP4"));
  EXPECT_FALSE(possible(all, "tl2-bitnet.cpp"));
}

TEST(GgufInspect, CountsAreThoseOfTheDecodedCodes) {
  const Codes codes = some_codes({16, 512});
  for (const auto& [id, type] : {std::pair{FormatId::tq1_0, kTq1},
                                 {FormatId::tq2_0, kTq2},
                                 {FormatId::i2s_x86, kI2s},
                                 {FormatId::i2s_four_row, kI2s}}) {
    const std::string bytes = sample_file(id, type).build();
    const auto file = read(bytes_of(bytes));
    const FileReport report = inspect(*file, {});
    EXPECT_TRUE(report.problems.empty());
    const TensorReport& tensor = report.tensors[1];
    ASSERT_TRUE(tensor.census) << type;
    std::uint64_t counts[3] = {};
    for (const std::int8_t code : codes.values) ++counts[code + 1];
    EXPECT_EQ(tensor.census->minus, counts[0]);
    EXPECT_EQ(tensor.census->zero, counts[1]);
    EXPECT_EQ(tensor.census->plus, counts[2]);
    EXPECT_EQ(tensor.census->scale_least, 0.5f);
    EXPECT_EQ(tensor.census->scale_greatest, 0.5f);
  }
}

// 20 is not ceil(v 256 / 243) of any v, nor is 2 of four trits and a zero.
TEST(GgufInspect, Tq1BytesThatNoEncoderWritesAreProblems) {
  for (const auto& [at, byte] : {std::pair{5, 20}, {49, 2}}) {
    Encoded encoded = *encode(some_codes({1, 256}), FormatId::tq1_0);
    encoded.bytes[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(byte);
    Builder builder;
    builder.tensor("a", encoded, kTq1);
    const std::string bytes = builder.build();
    const auto file = read(bytes_of(bytes));
    const FileReport report = inspect(*file, {});
    ASSERT_EQ(report.problems.size(), 1u) << at;
    EXPECT_EQ(report.problems[0], "a: 1 bytes are not what an encoder of tq1_0 writes");
  }
}

}  // namespace
}  // namespace gpuready::ternary::gguf
