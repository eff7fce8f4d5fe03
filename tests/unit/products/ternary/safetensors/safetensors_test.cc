#include "ternary/safetensors/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ternary/gguf/gguf_convert.h"
#include "ternary/gguf/gguf_identify.h"
#include "ternary/gguf/gguf_inspect.h"
#include "ternary/gguf/gguf_types.h"
#include "ternary/gguf/gguf_write.h"

namespace gpuready::ternary::safetensors {
namespace {

using gguf::Bytes;

std::string file_of(const std::string& header, const std::string& data) {
  std::uint64_t size = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &size, 8);
  return out + header + data;
}
Bytes bytes_of(const std::string& file) {
  return {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
}
// The example of transformers' unpack_weights(), 64 times side by side, with the scale 1.5 as bf16,
// a vector, and metadata.
std::string packed_file() {
  std::string data;
  for (const int row : {0, 1})
    for (int i = 0; i < 128; ++i)
      data += static_cast<char>(row == 0 ? (i % 2 == 0 ? 0b10100001 : 0b00011000)
                                         : (i % 2 == 0 ? 0b10010000 : 0b00001010));
  data += std::string("\xC0\x3F", 2) + std::string(8, '\x3F');
  return file_of(R"({"__metadata__":{"format":"pt"},)"
                 R"("m.q_proj.weight":{"dtype":"U8","shape":[2,128],"data_offsets":[0,256]},)"
                 R"("m.q_proj.weight_scale":{"dtype":"BF16","shape":[1],"data_offsets":[256,258]},)"
                 R"("m.norm.weight":{"dtype":"F32","shape":[2],"data_offsets":[258,266]}})",
                 data);
}

struct Converted {
  Result<gguf::ConvertReport> report;
  std::string bytes;
};
Converted convert_to(const gguf::File& file, FormatId id) {
  gguf::ConvertOptions options;
  options.to = id;
  options.layouts = {FormatId::i2s_x86};
  std::string out;
  auto report = gguf::convert(file, options, [&](Bytes piece) -> Result<void> {
    out.append(piece.begin(), piece.end());
    return {};
  });
  return {std::move(report), std::move(out)};
}
std::vector<float> weights_of(const gguf::File& file) {
  const FormatId layouts[] = {FormatId::i2s_x86};
  const auto loaded = gguf::load(file, *file.find("m.q_proj.weight"), layouts);
  if (!loaded) return {};
  return dequantise(loaded->view()).value_or(std::vector<float>());
}

TEST(Safetensors, PackedWeightsAreReadCountedAndConvertedBothWays) {
  const std::string start = packed_file();
  const auto file = read(bytes_of(start));
  ASSERT_TRUE(file) << file.error().message;
  const gguf::Tensor& tensor = *file->find("m.q_proj.weight");
  EXPECT_EQ(tensor.shape(), (Shape{8, 128}));
  const auto weights = weights_of(*file);
  ASSERT_EQ(weights.size(), 8u * 128);
  EXPECT_EQ(weights[0], 0.0f);
  EXPECT_EQ(weights[1], -1.5f);
  EXPECT_EQ(weights[128], -1.5f);  // row 1
  EXPECT_EQ(weights[129], 1.5f);

  const auto report = gguf::inspect(*file, {});
  EXPECT_TRUE(report.problems.empty());
  EXPECT_EQ(report.tensors[0].format, FormatId::bitnet_hf);
  EXPECT_EQ(report.tensors[0].census->undefined, 0u);

  const Converted there = convert_to(*file, FormatId::i2s_x86);
  ASSERT_TRUE(there.report) << there.report.error().message;
  ASSERT_TRUE(there.report->failed.empty()) << there.report->failed[0].text;
  const auto made = gguf::read(bytes_of(there.bytes));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(weights_of(*made), weights);
  EXPECT_EQ(made->tensors.size(), 2u);  // the scale is inside
  ASSERT_NE(made->find_metadata("format"), nullptr);

  const Converted back = convert_to(*made, FormatId::bitnet_hf);
  ASSERT_TRUE(back.report) << back.report.error().message;
  ASSERT_TRUE(back.report->failed.empty()) << back.report->failed[0].text;
  const auto again = read(bytes_of(back.bytes));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->problems.empty());
  EXPECT_EQ(weights_of(*again), weights);
  const gguf::Tensor &old = *file->find("m.q_proj.weight"), &now = *again->find("m.q_proj.weight");
  EXPECT_TRUE(std::ranges::equal(file->data(old).first(256), again->data(now).first(256)));
  EXPECT_NE(again->find_metadata("format"), nullptr);
}

TEST(Safetensors, WhatTheOtherContainerCannotHoldIsRefusedByName) {
  const std::string start = file_of(R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[2,3]},)"
                                    R"("w":{"dtype":"U8","shape":[1,1],"data_offsets":[0,1]},)"
                                    R"("w_scale":{"dtype":"F32","shape":[],"data_offsets":[3,7]},)"
                                    R"("x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                                    std::string("\0\0\1\0\0\0\0", 7));
  const auto file = read(bytes_of(start));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->find("w")->type, gguf::kPackedU8);
  const Converted made = convert_to(*file, FormatId::i2s_four_row);
  ASSERT_TRUE(made.report);
  ASSERT_EQ(made.report->failed.size(), 2u);
  EXPECT_EQ(made.report->failed[0].text, "GGUF files do not hold its type, BOOL");
  EXPECT_EQ(made.report->failed[1].name, "x");
}

TEST(Safetensors, NamesAndTextsAreEscaped) {
  const auto head = gguf::safetensors_head({gguf::string_record("k\"", "a\\\n\x1f")},
                                           {{"n\"\t", 2, {8, 4, 1, 1}, gguf::kPackedU8, 8}});
  const std::string text(head.begin(), head.end());
  EXPECT_NE(text.find(R"({"__metadata__":{"k\"":"a\\\u000a\u001f"},)"), std::string::npos);
  EXPECT_NE(text.find(R"("n\"\u0009":{"dtype":"U8","shape":[1,8],"data_offsets":[0,8]}})"),
            std::string::npos);
  EXPECT_EQ(head.size() % 8, 0u);
  std::string file(head.begin(), head.end());
  file += std::string(8, '\0');
  const auto read_again = read(bytes_of(file));
  ASSERT_TRUE(read_again) << read_again.error().message;
  EXPECT_EQ(read_again->tensors[0].name, "n\"\t");
}

TEST(Safetensors, WrongHeadersAreRefusedWithThePlace) {
  const auto error = [](const std::string& header, const std::string& data = "1234") {
    const std::string file = file_of(header, data);
    const auto made = read(bytes_of(file));
    return made ? "read" : made.error().message;
  };
  const auto tensor = [&](const std::string& rest) { return error("{\"a\":{" + rest + "}}"); };
  EXPECT_EQ(tensor(R"("dtype":"U8","shape":[4],"data_offsets":[0,4])"), "read");
  EXPECT_NE(tensor(R"("dtype":"Q9","shape":[4],"data_offsets":[0,4])").find("dtype \"Q9\""),
            std::string::npos);
  EXPECT_NE(tensor(R"("dtype":"U8","shape":[3],"data_offsets":[0,4])").find("takes 3 bytes"),
            std::string::npos);
  EXPECT_NE(tensor(R"("dtype":"U8","shape":[4],"data_offsets":[4,0])").find("data_offsets"),
            std::string::npos);
  EXPECT_NE(tensor(R"("dtype":"U8","shape":[5],"data_offsets":[0,5])").find("beyond the end"),
            std::string::npos);
  EXPECT_NE(tensor(R"("dtype":"U8","shape":[-4],"data_offsets":[0,4])").find("whole number"),
            std::string::npos);
  EXPECT_NE(tensor(R"("dtype":"U8","shape":[0],"data_offsets":[0,0])").find("dimension of 0"),
            std::string::npos);
  EXPECT_NE(tensor(R"("dtype":"U8","shape":[1099511627776,4294967296],"data_offsets":[0,4])")
                .find("2^40"),
            std::string::npos);
  EXPECT_NE(tensor(R"("shape":[4],"data_offsets":[0,4])").find("dtype"), std::string::npos);
  EXPECT_NE(error("{\"a\":1}").find("object"), std::string::npos);
  EXPECT_NE(error("{" + std::string(70, '[')).find("header"), std::string::npos);
  EXPECT_NE(error(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":1})").find("twice"),
            std::string::npos);
  const std::string short_file = file_of("{}", "").substr(0, 9);
  EXPECT_EQ(read(bytes_of(short_file)).error().kind, ErrorKind::truncated);
  std::string huge = file_of("{}", "");
  huge[6] = '\x7F';
  EXPECT_EQ(read(bytes_of(huge)).error().kind, ErrorKind::truncated);
}

TEST(Safetensors, HolesAndOverlapsAreProblems) {
  const std::string hole =
      file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", "1234");
  EXPECT_EQ(read(bytes_of(hole))->problems,
            std::vector<std::string>{"2 bytes of the data belong to no tensor"});
  const std::string overlap = file_of(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                                      R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
                                      "1234");
  EXPECT_EQ(read(bytes_of(overlap))->problems.size(), 1u);
}

}  // namespace
}  // namespace gpuready::ternary::safetensors
