// The public face of the GGUF reader.
#include "gpuready/ternary_gguf.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "gguf_builder.h"
#include "unit/products/ternary/reference.h"

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
  EXPECT_EQ(b.type, gguf::kI2s);
  EXPECT_TRUE(file->possible_layouts(0).empty());
  const auto layouts = file->possible_layouts(1);
  EXPECT_NE(std::ranges::find(layouts, FormatId::i2s_x86), layouts.end());
  EXPECT_EQ(std::ranges::find(layouts, FormatId::i2s_qk256), layouts.end()) << "of other bytes";
  EXPECT_EQ(c.type_name, "F32");
  EXPECT_FALSE(c.may_be_ternary);

  EXPECT_EQ(file->pack(0)->unpack().values, codes.values);
  EXPECT_EQ(file->pack(1, FormatId::i2s_x86)->unpack().values, codes.values);
  const auto kind = [&](std::size_t index, std::optional<FormatId> layout = std::nullopt) {
    const auto packed = file->pack(index, layout);
    return packed ? std::string("ok") : std::string(to_string(packed.error().kind));
  };
  EXPECT_EQ(kind(0, FormatId::tq2_0), "ok");
  EXPECT_EQ(file->pack(0, FormatId::tq1_0).error().message, "tensor a is tq2_0, not tq1_0");
  EXPECT_EQ(kind(1), "ambiguous_format");
  EXPECT_EQ(kind(2), "not_ternary");
  EXPECT_EQ(kind(3), "not_found");
}

// A mapped file of many gigabytes is listed without its tensors being read.
TEST(GgufFile, ListsTensorsWithoutReadingThem) {
  const auto codes = reference::make(1, 512, 1024, reference::Fill::random, 5).weights;
  gguf::Builder builder;
  builder.tensor("a", *encode(codes, FormatId::i2s_x86), gguf::kI2s);
  const std::string text = builder.build();
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size = (text.size() + page - 1) / page * page;
  ASSERT_GT(size, 8 * page);
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  std::memcpy(mapped, text.data(), text.size());
  // All but the header and the end.
  ASSERT_EQ(mprotect(static_cast<char*>(mapped) + page, size - 3 * page, PROT_NONE), 0);
  {
    const auto file = GgufFile::read({static_cast<const std::uint8_t*>(mapped), text.size()});
    ASSERT_TRUE(file);
    const GgufTensor tensor = file->tensor(0);
    EXPECT_EQ(tensor.shape, (Shape{512, 1024}));
    EXPECT_TRUE(tensor.may_be_ternary);
  }
  munmap(mapped, size);
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
