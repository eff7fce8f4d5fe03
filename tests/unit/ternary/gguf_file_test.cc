// The public face of the GGUF reader.
#include "gpuready/ternary_gguf.h"

#include <gtest/gtest.h>

#include "gguf_builder.h"
#include "reference.h"

namespace gpuready::ternary {
namespace {

std::span<const std::uint8_t> bytes_of_text(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(GgufFile, GivesTensorsMetadataAndPackedWeights) {
  const auto codes = reference::make(1, 4, 256, reference::Fill::random, 5).weights;
  EncodeOptions options;
  options.round_scales = true;
  const auto tq2 = *encode(codes, FormatId::tq2_0, options);
  const auto i2s = *encode(codes, FormatId::i2s_x86, options);
  gguf::Builder builder;
  builder.u32("general.file_type", 40);
  builder.tensor("a", tq2, gguf::kTq2)
      .tensor("b", i2s, gguf::kI2s)
      .tensor("c", {2}, gguf::kF32, std::string(8, 'x'));
  const std::string text = builder.build();
  const auto file = GgufFile::read(bytes_of_text(text));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->tensor_count(), 3u);
  EXPECT_EQ(file->find("b"), 1u);
  EXPECT_EQ(file->find("d"), std::nullopt);
  EXPECT_TRUE(file->problems().empty());
  const auto value = file->metadata("general.file_type");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->type, 4u);
  EXPECT_EQ(value->bytes[0], 40);
  EXPECT_FALSE(file->metadata("general.name"));

  const GgufTensor a = file->tensor(0), b = file->tensor(1), c = file->tensor(2);
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.shape, (Shape{4, 256}));
  EXPECT_EQ(a.type, gguf::kTq2);
  EXPECT_TRUE(a.may_be_ternary);
  EXPECT_TRUE(a.possible_layouts.empty());
  EXPECT_NE(std::ranges::find(b.possible_layouts, FormatId::i2s_x86), b.possible_layouts.end());
  EXPECT_EQ(c.type_name, "F32");
  EXPECT_FALSE(c.may_be_ternary);

  EXPECT_EQ(file->pack(0)->unpack().values, codes.values);
  EXPECT_EQ(file->pack(1, FormatId::i2s_x86)->unpack().values, codes.values);
  const auto kind = [&](std::size_t index, std::optional<FormatId> layout = std::nullopt) {
    const auto packed = file->pack(index, layout);
    return packed ? std::string("ok") : std::string(to_string(packed.error().kind));
  };
  EXPECT_EQ(kind(1), "ambiguous_format");
  EXPECT_EQ(kind(2), "not_ternary");
  EXPECT_EQ(kind(3), "not_found");
}

TEST(GgufFile, KeepsWhatKeepsItsBytes) {
  const auto keeper = std::make_shared<const std::string>(gguf::Builder().build());
  {
    const auto file = GgufFile::read(bytes_of_text(*keeper), keeper);
    ASSERT_TRUE(file);
    const GgufFile copy = *file;
    EXPECT_EQ(keeper.use_count(), 2);
    EXPECT_EQ(copy.tensor_count(), 0u);
  }
  EXPECT_EQ(keeper.use_count(), 1);
  const auto broken = GgufFile::read(bytes_of_text("GGUF"));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().kind, ErrorKind::truncated);
}

}  // namespace
}  // namespace gpuready::ternary
