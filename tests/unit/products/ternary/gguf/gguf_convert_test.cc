#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "gguf_builder.h"
#include "ternary/gguf/gguf_convert.h"
#include "ternary/gguf/gguf_identify.h"

namespace gpuready::ternary::gguf {
namespace {

struct Converted {
  Result<ConvertReport> report;
  std::string bytes;
};
Converted convert_bytes(const std::string& bytes, const ConvertOptions& options) {
  const auto file = read(bytes_of(bytes));
  if (!file) return {std::unexpected(file.error()), {}};
  std::string out;
  auto report = convert(*file, options, [&](Bytes piece) -> Result<void> {
    out.append(piece.begin(), piece.end());
    return {};
  });
  return {std::move(report), std::move(out)};
}

ConvertOptions to(FormatId id, std::vector<FormatId> layouts = {}) {
  ConvertOptions options;
  options.to = id;
  options.layouts = std::move(layouts);
  return options;
}

TEST(GgufConvert, EveryFormatGoesRoundWithTheSameCodesAndComesBackTheSameBytes) {
  // A shape whose TL1 and TL2 tilings bitnet.cpp publishes.
  const Shape shape{1536, 1536};
  const std::string start = sample_file(FormatId::tq2_0, kTq2, shape).u32("x", 1).build();
  for (const FormatId id :
       {FormatId::tq1_0, FormatId::i2s_x86, FormatId::i2s_arm, FormatId::i2s_four_row,
        FormatId::tl1_bitnet_cpp, FormatId::tl1_bitnet_cpp_setup, FormatId::tl2_bitnet_cpp,
        FormatId::i2s_bitnet_rs_split, FormatId::i2s_bitnet_rs_inline}) {
    const Converted there = convert_bytes(start, to(id));
    ASSERT_TRUE(there.report) << there.report.error().message;
    ASSERT_TRUE(there.report->failed.empty()) << there.report->failed[0].text;
    EXPECT_EQ(there.report->bytes, there.bytes.size());
    const auto file = read(bytes_of(there.bytes));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->problems.empty());
    const FormatId layouts[] = {id};
    const auto loaded = load(*file, *file->find("w.weight"), layouts);
    ASSERT_TRUE(loaded) << format(id).name << loaded.error().message;
    EXPECT_TRUE(decode(loaded->view())->values == some_codes(shape).values) << format(id).name;
    const Converted back = convert_bytes(there.bytes, to(FormatId::tq2_0, {id}));
    ASSERT_TRUE(back.report && back.report->failed.empty()) << format(id).name;
    const auto again = read(bytes_of(back.bytes)), first = read(bytes_of(start));
    EXPECT_TRUE(std::ranges::equal(again->data(*again->find("w.weight")),
                                   first->data(*first->find("w.weight"))));
    EXPECT_EQ(again->tensors.size(), first->tensors.size());
  }
}

TEST(GgufConvert, MetadataAndOtherTensorsKeepTheirBytes) {
  const std::string start = sample_file(FormatId::tq2_0, kTq2).build();
  const Converted made = convert_bytes(start, to(FormatId::tq1_0));
  ASSERT_TRUE(made.report);
  const auto before = read(bytes_of(start)), after = read(bytes_of(made.bytes));
  ASSERT_TRUE(after);
  ASSERT_EQ(after->metadata.size(), before->metadata.size());
  for (std::size_t i = 0; i < before->metadata.size(); ++i) {
    const Metadata &old = before->metadata[i], &now = after->metadata[i];
    if (old.key == "general.file_type") {
      EXPECT_EQ(as_u32(now), 36u);
    } else {
      EXPECT_TRUE(std::ranges::equal(old.record, now.record)) << old.key;
    }
  }
  for (const char* name : {"norm.weight", "other.weight"}) {
    const Tensor &old = *before->find(name), &now = *after->find(name);
    EXPECT_TRUE(
        std::ranges::equal(before->data(old).first(*old.size), after->data(now).first(*now.size)));
    EXPECT_EQ(old.dims, now.dims);
  }
}

TEST(GgufConvert, WhatIsAmbiguousIsNamedAndNotConverted) {
  const std::string start = sample_file(FormatId::i2s_x86, kI2s).build();
  const Converted made = convert_bytes(start, to(FormatId::tq2_0));
  ASSERT_TRUE(made.report);
  ASSERT_EQ(made.report->failed.size(), 1u);
  EXPECT_EQ(made.report->failed[0].name, "w.weight");
  EXPECT_NE(made.report->failed[0].text.find("--layout"), std::string::npos);
}

TEST(GgufConvert, ForBitnetRsFilesHoldTheCodesAndScalesThatItsReaderTakes) {
  const std::string start = sample_file(FormatId::tq2_0, kTq2).build();
  const Converted made = convert_bytes(start, to(FormatId::i2s_bitnet_rs));
  ASSERT_TRUE(made.report && made.report->failed.empty());
  EXPECT_EQ(made.report->format, FormatId::i2s_bitnet_rs_split);
  const auto file = read(bytes_of(made.bytes));
  ASSERT_TRUE(file) << file.error().message;
  const Tensor* scales = file->find("w.weight.scale");
  ASSERT_NE(scales, nullptr);
  EXPECT_EQ(scales->type, kF32);
  EXPECT_EQ(scales->elements(), 16u * 512 / 32);
  EXPECT_EQ(file->find("w.weight")->type, kI2s);
  // Its size is that of QK256, which BitNet.rs tries first.
  ASSERT_EQ(made.report->notes.size(), 2u);
  EXPECT_NE(made.report->notes[1].find("treats 1 of these tensors as QK256"), std::string::npos);
}

TEST(GgufConvert, StalePaddingBehindAnI2sScaleIsNotContent) {
  Encoded clean = *encode(some_codes({4, 256}), FormatId::i2s_x86), stale = clean;
  std::fill(stale.bytes.end() - 28, stale.bytes.end(), std::uint8_t{0xA5});
  for (const FormatId id : {FormatId::tq2_0, FormatId::i2s_arm, FormatId::i2s_bitnet_rs_split}) {
    const auto from = [&](const Encoded& encoded) {
      Builder builder;
      builder.tensor("w", encoded, kI2s);
      return convert_bytes(builder.build(), to(id, {FormatId::i2s_x86}));
    };
    const Converted of_stale = from(stale);
    ASSERT_TRUE(of_stale.report && of_stale.report->failed.empty()) << format(id).name;
    EXPECT_EQ(of_stale.bytes, from(clean).bytes) << format(id).name;
  }
}

TEST(GgufConvert, AScaleThatIsNoF16IsRefusedUnlessRoundingIsAskedFor) {
  Builder builder;
  builder.tensor("w", *encode(some_codes({4, 256}, 0.1f), FormatId::i2s_x86), kI2s);
  const std::string start = builder.build();
  ConvertOptions options = to(FormatId::tq2_0, {FormatId::i2s_x86});
  Converted made = convert_bytes(start, options);
  ASSERT_TRUE(made.report);
  ASSERT_EQ(made.report->failed.size(), 1u);
  EXPECT_NE(made.report->failed[0].text.find("f16"), std::string::npos);
  options.round_scales = true;
  made = convert_bytes(start, options);
  EXPECT_TRUE(made.report && made.report->failed.empty());
}

TEST(GgufConvert, DifferentScalesDoNotFitOneScaleATensor) {
  Codes codes = some_codes({2, 256});
  codes.scale_block = 256;
  codes.scales = {0.5f, 0.25f};
  Builder builder;
  builder.tensor("w", *encode(codes, FormatId::tq2_0), kTq2);
  const Converted made = convert_bytes(builder.build(), to(FormatId::i2s_x86));
  ASSERT_TRUE(made.report);
  EXPECT_EQ(made.report->failed.size(), 1u);
}

TEST(GgufConvert, FloatsAreQuantisedOnlyWhereTheyAreNamed) {
  std::string floats;
  for (int i = 0; i < 512; ++i) {
    const float value = i % 3 == 0 ? 0.5f : i % 3 == 1 ? -0.5f : 0.0f;
    Builder::number(floats, std::bit_cast<std::uint32_t>(value));
  }
  Builder builder;
  builder.tensor("a.weight", {256, 2}, kF32, floats).tensor("b.weight", {256, 2}, kF32, floats);
  ConvertOptions options = to(FormatId::tq1_0);
  options.from_float = true;
  EXPECT_FALSE(convert_bytes(builder.build(), options).report);
  options.names = {"a.*"};
  const Converted made = convert_bytes(builder.build(), options);
  ASSERT_TRUE(made.report);
  EXPECT_EQ(made.report->converted, std::vector<std::string>{"a.weight"});
  const auto file = read(bytes_of(made.bytes));
  EXPECT_EQ(file->find("b.weight")->type, kF32);
  const auto values = dequantise(load(*file, *file->find("a.weight"), {})->view());
  EXPECT_EQ((*values)[0], 0.5f);
  EXPECT_EQ((*values)[1], -0.5f);
}

TEST(GgufConvert, FileTypeIsRemovedWhereTernaryTypesAreMixed) {
  Builder builder = sample_file(FormatId::tq2_0, kTq2);
  builder.tensor("z", *encode(some_codes({1, 256}), FormatId::tq2_0), kTq2);
  ConvertOptions options = to(FormatId::tq1_0);
  options.names = {"z"};
  const Converted made = convert_bytes(builder.build(), options);
  ASSERT_TRUE(made.report);
  EXPECT_EQ(read(bytes_of(made.bytes))->find_metadata("general.file_type"), nullptr);
  EXPECT_EQ(made.report->notes.size(), 1u);
}

TEST(GgufConvert, NoFileHoldsTwoLayoutsOfOneNumber) {
  Builder builder;
  const Encoded encoded = *encode(some_codes({4, 256}), FormatId::i2s_x86);
  builder.tensor("a", encoded, kI2s).tensor("b", encoded, kI2s);
  ConvertOptions options = to(FormatId::i2s_arm, {FormatId::i2s_x86});
  options.names = {"a"};
  const Converted made = convert_bytes(builder.build(), options);
  ASSERT_TRUE(made.report);
  ASSERT_EQ(made.report->failed.size(), 1u);
  EXPECT_EQ(made.report->failed[0].name, "b");
}

TEST(GgufConvert, FormatsWithoutANumberAndOverlapsAreRefused) {
  Builder builder = sample_file(FormatId::tq2_0, kTq2);
  EXPECT_EQ(convert_bytes(builder.build(), to(FormatId::w2a8_gpu)).report.error().kind,
            ErrorKind::unknown_format);
  builder.infos[2].offset = builder.infos[1].offset;
  EXPECT_EQ(convert_bytes(builder.build(), to(FormatId::tq1_0)).report.error().kind,
            ErrorKind::bad_input);
}

TEST(GgufConvert, ATilingThatNoReaderCouldKnowIsRefused) {
  const Converted made =
      convert_bytes(sample_file(FormatId::tq2_0, kTq2).build(), to(FormatId::tl1_bitnet_cpp));
  ASSERT_TRUE(made.report);
  ASSERT_EQ(made.report->failed.size(), 1u);
  EXPECT_NE(made.report->failed[0].text.find("tiling"), std::string::npos);
}

TEST(GgufConvert, AScaleTensorOfMoreThanOneScaleIsNotReadAsOne) {
  const Shape shape{1536, 1536};
  Codes codes;
  codes.shape = shape;
  codes.values.assign(static_cast<std::size_t>(shape.rows * shape.cols), 1);
  codes.scales = {0.5f};
  const auto encoded = encode(codes, FormatId::tl1_bitnet_cpp);
  ASSERT_TRUE(encoded);
  for (const std::uint64_t scales : {1u, 1536u}) {
    Builder builder;
    builder.tensor("a", *encoded, kTl1);
    std::string half;  // as f32
    for (std::uint64_t i = 0; i < scales; ++i) half.append("\0\0\0\x3f", 4);
    builder.tensor("a_scale", {scales}, kF32, half);
    const Converted made =
        convert_bytes(builder.build(), to(FormatId::tq2_0, {FormatId::tl1_bitnet_cpp}));
    ASSERT_TRUE(made.report);
    EXPECT_EQ(made.report->failed.size(), scales == 1 ? 0u : 1u);
    if (scales > 1) {
      EXPECT_NE(made.report->failed[0].text.find("1536 scales"), std::string::npos);
    }
  }
}

TEST(GgufConvert, BytesThatBelongToNoTensorAreNotDropped) {
  std::string bytes = sample_file(FormatId::tq2_0, kTq2).build();
  EXPECT_TRUE(
      convert_bytes(bytes + std::string(100, '\0'), to(FormatId::tq1_0)).report->failed.empty());
  const Converted made = convert_bytes(bytes + std::string(100, 'x'), to(FormatId::tq1_0));
  ASSERT_TRUE(made.report);
  ASSERT_EQ(made.report->failed.size(), 1u);
  EXPECT_NE(made.report->failed[0].text.find("belong to no tensor"), std::string::npos);
}

TEST(GgufConvert, AFailingSinkEndsIt) {
  const std::string start = sample_file(FormatId::tq2_0, kTq2).build();
  const auto file = read(bytes_of(start));
  const auto report = convert(*file, to(FormatId::tq1_0), [](Bytes) -> Result<void> {
    return std::unexpected(Error{ErrorKind::io, "full"});
  });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::io);
}

TEST(GgufConvert, GlobsMatch) {
  EXPECT_TRUE(matches_glob("blk.*.weight", "blk.12.ffn.weight"));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("a?c**", "abc"));
  EXPECT_FALSE(matches_glob("blk.*.weight", "blk.1.bias"));
  EXPECT_FALSE(matches_glob("", "a"));
}

}  // namespace
}  // namespace gpuready::ternary::gguf
