#include <gtest/gtest.h>

#include <functional>

#include "gguf_builder.h"
#include "ternary/gguf/gguf_inspect.h"

namespace gpuready::ternary::gguf {
namespace {

ErrorKind kind_of(const std::string& file) {
  const auto read_file = read(bytes_of(file));
  EXPECT_FALSE(read_file.has_value());
  if (read_file) return ErrorKind::io;
  EXPECT_FALSE(read_file.error().message.empty());
  return read_file.error().kind;
}
ErrorKind kind_of(const std::function<void(Builder&)>& spoil) {
  Builder builder = sample_file(FormatId::tq2_0, kTq2);
  spoil(builder);
  return kind_of(builder.build());
}

TEST(GgufRead, ReadsMetadataAndTensorsOfVersions2And3) {
  for (const std::uint32_t version : {2u, 3u}) {
    Builder builder = sample_file(FormatId::tq2_0, kTq2);
    builder.version = version;
    const std::string bytes = builder.build();
    const auto file = read(bytes_of(bytes));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->version, version);
    EXPECT_EQ(file->metadata.size(), 6u);
    ASSERT_NE(file->find_metadata("a.nested"), nullptr);
    EXPECT_EQ(as_u32(*file->find_metadata("general.file_type")), 1u);
    const Tensor* tensor = file->find("w.weight");
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->shape(), (Shape{16, 512}));
    EXPECT_EQ(tensor->size, 16u * 2 * 66);
    EXPECT_TRUE(file->problems.empty());
  }
}

TEST(GgufRead, AFileCutAnywhereIsATypedErrorOrStillWhole) {
  const std::string whole = sample_file(FormatId::tq1_0, kTq1, {1, 256}).build();
  const std::size_t last = whole.size() - 28;  // padding behind 68 bytes
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    const auto file = read(bytes_of(cut));
    EXPECT_EQ(file.has_value(), size >= last) << size;
    if (!file) {
      EXPECT_EQ(file.error().kind, ErrorKind::truncated) << size;
    }
  }
}

TEST(GgufRead, OtherVersionsAndByteOrdersAreRefused) {
  EXPECT_EQ(kind_of([](Builder& b) { b.version = 1; }), ErrorKind::bad_input);
  EXPECT_EQ(kind_of([](Builder& b) { b.version = 4; }), ErrorKind::bad_input);
  Builder big;
  big.version = 3u << 24;
  const std::string bytes = big.build();
  EXPECT_NE(read(bytes_of(bytes)).error().message.find("big endian"), std::string::npos);
  EXPECT_EQ(kind_of(std::string("GGML") + std::string(40, '\0')), ErrorKind::bad_input);
}

TEST(GgufRead, HostileNumbersAreRefusedWithoutAllocatingForThem) {
  const std::string good = sample_file(FormatId::tq2_0, kTq2).build();
  const auto with = [&](std::size_t at, std::uint64_t value) {
    std::string bytes = good, number;
    Builder::number(number, value);
    return bytes.replace(at, 8, number);
  };
  for (const std::uint64_t count : {~std::uint64_t{0}, std::uint64_t{1} << 60,
                                    std::uint64_t{1} << 32, std::uint64_t{good.size()}}) {
    EXPECT_EQ(kind_of(with(8, count)), ErrorKind::truncated);   // tensors
    EXPECT_EQ(kind_of(with(16, count)), ErrorKind::truncated);  // metadata
    EXPECT_EQ(kind_of(with(24, count)), ErrorKind::truncated);  // length of the first key
  }
  for (const std::uint32_t element : {0u, 8u, 9u, 12u}) {
    std::string array;
    Builder::number(array, element);
    Builder::number(array, ~std::uint64_t{0} / 4);
    EXPECT_EQ(kind_of([&](Builder& b) { b.entry("x", ValueType::array, array); }),
              ErrorKind::truncated);
  }
  std::string deep;
  for (int i = 0; i < 100; ++i) {
    Builder::number<std::uint32_t>(deep, 9);
    Builder::number<std::uint64_t>(deep, 1);
  }
  EXPECT_EQ(kind_of([&](Builder& b) { b.entry("x", ValueType::array, deep); }),
            ErrorKind::bad_input);
  EXPECT_EQ(kind_of([](Builder& b) { b.entry("x", static_cast<ValueType>(13), "abcd"); }),
            ErrorKind::bad_input);
}

TEST(GgufRead, ImpossibleTensorsAreRefused) {
  EXPECT_EQ(kind_of([](Builder& b) { b.infos[0].name = b.infos[1].name; }), ErrorKind::bad_input);
  EXPECT_EQ(kind_of([](Builder& b) { b.u32("general.file_type", 2); }), ErrorKind::bad_input);
  EXPECT_EQ(kind_of([](Builder& b) { b.infos[0].dims = {8, 0}; }), ErrorKind::bad_input);
  EXPECT_EQ(kind_of([](Builder& b) { b.infos[0].dims = {1, 1, 1, 1, 1}; }), ErrorKind::bad_input);
  EXPECT_EQ(kind_of([](Builder& b) { b.infos[1].dims = {128, 4}; }), ErrorKind::bad_input);
  EXPECT_EQ(kind_of([](Builder& b) { b.infos[0].dims = {1ull << 32, 1ull << 32}; }),
            ErrorKind::too_large);
  EXPECT_EQ(kind_of([](Builder& b) { b.infos[0].dims = {~0ull}; }), ErrorKind::too_large);
  EXPECT_EQ(kind_of([](Builder& b) { b.infos[1].offset = ~0ull - 31; }), ErrorKind::truncated);
  EXPECT_EQ(kind_of([](Builder& b) { b.infos[2].offset += 64; }), ErrorKind::truncated);
  EXPECT_EQ(kind_of([](Builder& b) { b.u32("general.alignment", 0); }), ErrorKind::bad_input);
  EXPECT_EQ(kind_of([](Builder& b) { b.u32("general.alignment", 48); }), ErrorKind::bad_input);
}

// Blocks lie along the first dimension.
TEST(GgufRead, RowsAreWholeBlocks) {
  const auto message = [](std::vector<std::uint64_t> dims) {
    Builder builder;
    builder.tensor("w", std::move(dims), kTq2, std::string(66 * 256, '\0'));
    const std::string bytes = builder.build();
    const auto file = read(bytes_of(bytes));
    return file ? "" : file.error().message;
  };
  EXPECT_EQ(message({256, 3}), "");
  EXPECT_EQ(message({512}), "");
  EXPECT_TRUE(message({128, 256}).ends_with("has rows of 128, and TQ2_0 blocks of 256"))
      << message({128, 256});
  EXPECT_TRUE(message({384, 512}).ends_with("has rows of 384, and TQ2_0 blocks of 256"))
      << message({384, 512});
}

// ggml's GGML_TYPE_* and llama.h's LLAMA_FTYPE_MOSTLY_*, of llama.cpp and of bitnet.cpp's copy.
TEST(GgufRead, TypesHaveTheNumbersOfTheirSources) {
  struct {
    FormatId format;
    std::uint32_t type, file_type;
  } const kCases[] = {
      {FormatId::tq1_0, 34, 36},
      {FormatId::tq2_0, 35, 37},
      {FormatId::tl1_bitnet_cpp, 38, 38},
      {FormatId::tl1_bitnet_cpp_setup, 38, 38},
      {FormatId::tl2_bitnet_cpp, 39, 39},
      {FormatId::i2s_x86, 36, 40},
      {FormatId::i2s_arm, 36, 40},
      {FormatId::i2s_four_row, 36, 40},
      {FormatId::i2s_bitnet_rs, 36, 40},
      {FormatId::i2s_bitnet_rs_split, 36, 40},
      {FormatId::i2s_bitnet_rs_inline, 36, 40},
      {FormatId::i2s_qk256, 36, 40},
  };
  for (const auto& [format, type, file_type] : kCases) {
    const auto stored = stored_as(format);
    ASSERT_TRUE(stored) << static_cast<int>(format);
    EXPECT_EQ(stored->type, type) << static_cast<int>(format);
    EXPECT_EQ(stored->file_type, file_type) << static_cast<int>(format);
    EXPECT_EQ(stored->container, Container::gguf) << static_cast<int>(format);
    EXPECT_EQ(stored->format,
              format == FormatId::i2s_bitnet_rs ? FormatId::i2s_bitnet_rs_split : format);
  }
}

TEST(GgufRead, OverlapAndMisalignmentAreTold) {
  Builder builder = sample_file(FormatId::tq2_0, kTq2);
  builder.infos[2].offset = builder.infos[1].offset + 31;
  const std::string bytes = builder.build();
  const auto file = read(bytes_of(bytes));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->problems.size(), 2u);
  EXPECT_EQ(inspect(*file, {}).problems.size(), 2u);
}

TEST(GgufRead, ManyOverlapsAreCountedAndNotRead) {
  // All begin within the first, which is as long as the file.
  Builder builder;
  builder.tensor("all", {256, 64}, kTq2, std::string(64 * 66, '\0'));
  for (int i = 0; i < 500; ++i) builder.tensor("t" + std::to_string(i), {256}, kTq2, "");
  for (std::size_t i = 1; i < builder.infos.size(); ++i) builder.infos[i].offset = i % 60 * 64;
  const std::string bytes = builder.build();
  const auto file = read(bytes_of(bytes));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->problems.size(), kMostProblems + 1);
  EXPECT_NE(file->problems.back().find("more"), std::string::npos);
  std::size_t readable = 0;
  for (const Tensor& tensor : file->tensors) readable += load(*file, tensor, {}).has_value();
  EXPECT_EQ(readable, 1u);
  EXPECT_EQ(inspect(*file, {}).problems.size(), kMostProblems + 1);
}

TEST(GgufRead, MoreThanAnyModelHasIsRefused) {
  EXPECT_EQ(kind_of([](Builder& b) { b.infos[0].name = std::string(kMostNameBytes + 1, 'n'); }),
            ErrorKind::too_large);
  Builder builder;
  for (std::uint64_t i = 0; i <= kMostTensors; ++i)
    builder.infos.push_back({std::to_string(i), {1}, kF32, 0});
  const std::string bytes = builder.build() + std::string(4, '\0');
  const auto file = read(bytes_of(bytes));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::too_large);
}

// Each limit as the last that is taken and the first that is not.
TEST(GgufRead, LimitsAreTakenAndNotExceeded) {
  const auto good = [](const std::function<void(Builder&)>& change) {
    Builder builder = sample_file(FormatId::tq2_0, kTq2);
    change(builder);
    const std::string bytes = builder.build();
    const auto file = read(bytes_of(bytes));
    return file ? "" : file.error().message;
  };
  const auto nested = [](int arrays) {
    return [arrays](Builder& b) {
      std::string value;
      for (int i = 0; i < arrays; ++i) {
        Builder::number<std::uint32_t>(value, i + 1 < arrays ? 9 : 0);
        Builder::number<std::uint64_t>(value, 1);
      }
      b.entry("deep", ValueType::array, value + "x");
    };
  };
  EXPECT_EQ(good(nested(8)), "");
  EXPECT_EQ(good(nested(9)), "the value of \"deep\" nests arrays more than 8 deep");
  const auto named = [](std::size_t bytes) {
    return [bytes](Builder& b) { b.infos[0].name = std::string(bytes, 'n'); };
  };
  EXPECT_EQ(good(named(kMostNameBytes)), "");
  EXPECT_TRUE(
      good(named(kMostNameBytes + 1)).ends_with("has a name of 257 bytes; 256 are the most"));
  const auto shaped = [](std::vector<std::uint64_t> dims) {
    return [dims](Builder& b) { b.infos[0].dims = dims; };
  };
  EXPECT_EQ(good(shaped({2, 2, 1, 2})), "");
  EXPECT_TRUE(good(shaped({2, 2, 1, 2, 1})).ends_with("has 5 dimensions; 4 are the most"));
  EXPECT_EQ(good(shaped({1ull << 20, 1ull << 20})),
            "tensor \"norm.weight\" reaches beyond the end of the file");
  EXPECT_EQ(good(shaped({1ull << 20, (1ull << 20) + 1})),
            "tensor 0 \"norm.weight\" has more than 2^40 elements");
  const auto typed = [](std::uint32_t type) {
    return [type](Builder& b) { b.infos[0].type = type; };
  };
  EXPECT_EQ(good(typed(kOfSafetensors - 1)), "");
  EXPECT_EQ(good(typed(kOfSafetensors)),
            "tensor 0 \"norm.weight\" has the type number 65536, which is too large");
}

TEST(GgufRead, AlignmentIsAPowerOfTwoUpTo16MiB) {
  const auto message = [](std::uint32_t alignment, bool as_u32 = true) {
    Builder builder;
    builder.alignment = 1;
    std::string value;
    Builder::number(value, alignment);
    builder.entry("general.alignment", as_u32 ? ValueType::u32 : ValueType::i32, value);
    const std::string bytes = builder.build();
    const auto file = read(bytes_of(bytes));
    if (!file) return file.error().message;
    EXPECT_EQ(file->alignment, alignment);
    return std::string();
  };
  const std::string wrong = "general.alignment is not a power of two up to 2^24 as a u32";
  for (const std::uint32_t right : {1u, 2u, 32u, 1u << 24}) EXPECT_EQ(message(right), "") << right;
  for (const std::uint32_t bad : {0u, 3u, 48u, 1u << 25}) EXPECT_EQ(message(bad), wrong) << bad;
  EXPECT_EQ(message(32, false), wrong);
}

TEST(GgufRead, OfTypesItIsKnownWhatTheyAre) {
  using Type = std::optional<FloatType>;
  EXPECT_EQ(float_type(0), Type(FloatType::f32));
  EXPECT_EQ(float_type(1), Type(FloatType::f16));
  EXPECT_EQ(float_type(30), Type(FloatType::bf16));
  for (const std::uint32_t other : {2u, 24u, 28u, 29u, 31u, kI2s, 99u, kOfSafetensors})
    EXPECT_EQ(float_type(other), Type()) << other;
  EXPECT_EQ(type_name(12), "Q4_K");
  EXPECT_EQ(type_name(99), "type 99");
  EXPECT_EQ(find_type(99), nullptr);
  ASSERT_NE(find_plain_type("BF16"), nullptr);
  EXPECT_EQ(find_plain_type("BF16")->number, kBf16);
  EXPECT_EQ(find_plain_type("Q4_K"), nullptr) << "of blocks";
  EXPECT_EQ(find_plain_type("packed U8"), nullptr);
  EXPECT_EQ(find_plain_type("X8"), nullptr);
  EXPECT_TRUE(holds(Container::gguf, kI2s) && holds(Container::gguf, 99));
  EXPECT_FALSE(holds(Container::gguf, kPackedU8));
  EXPECT_TRUE(holds(Container::safetensors, kBf16) && holds(Container::safetensors, kPackedU8));
  EXPECT_FALSE(holds(Container::safetensors, kI2s) || holds(Container::safetensors, 99));
}

TEST(GgufRead, AlignmentIsObeyed) {
  Builder builder;
  builder.alignment = 256;
  builder.u32("general.alignment", 256);
  builder.tensor("a", {3}, kF32, std::string(12, 'a')).tensor("b", {3}, kF32, std::string(12, 'b'));
  const std::string bytes = builder.build();
  const auto file = read(bytes_of(bytes));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->data_offset, 256u);
  EXPECT_EQ(file->data(*file->find("b"))[0], 'b');
}

}  // namespace
}  // namespace gpuready::ternary::gguf
