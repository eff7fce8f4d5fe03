// The saved form of packed weights, and what is said of forms that are wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "reference.h"

namespace gpuready::ternary {
namespace {

struct alignas(64) Line {
  std::byte bytes[64];
};
// Bytes that begin at a multiple of 64.
struct Saved {
  std::vector<Line> lines;
  std::size_t size = 0;
  explicit Saved(const PackedWeights& weights) { resize(weights.saved_bytes()), save(weights); }
  void resize(std::size_t bytes) { lines.resize((bytes + 63) / 64 + 1), size = bytes; }
  void save(const PackedWeights& weights) {
    const auto done = weights.save(bytes());
    EXPECT_TRUE(done);
  }
  std::span<std::byte> bytes() { return {lines[0].bytes, size}; }
  std::byte& at(std::size_t index) { return lines[index / 64].bytes[index % 64]; }
  std::string kind(Contents contents = Contents::check) {
    const auto viewed = PackedWeights::view(bytes(), nullptr, contents);
    return viewed ? "ok" : std::string(to_string(viewed.error().kind));
  }
};

PackedWeights packed_of(std::int64_t n, std::int64_t k, Form form) {
  return *PackedWeights::pack(reference::make(1, n, k, reference::Fill::random, 5).weights, form);
}

// Another order of codes in a byte, or of blocks, keeps the sums of rows.
TEST(SavedWeights, DamageThatKeepsTheSumsIsFound) {
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    Saved saved(packed_of(32, 1024, form));
    for (std::size_t i = 64; i < 464; i += 9)
      for (int value = 0; value < 256; value += 51) {
        const std::byte was = std::exchange(saved.at(i), static_cast<std::byte>(value));
        if (saved.at(i) != was) {
          EXPECT_EQ(saved.kind(), "bad_code") << i << " " << value;
        }
        saved.at(i) = was;
      }
    const std::size_t block = form == Form::two_bit ? 64 : 320;
    std::swap_ranges(&saved.at(64), &saved.at(64) + block, &saved.at(64) + block);
    EXPECT_EQ(saved.kind(), "bad_code");
  }
}

TEST(SavedWeights, AreTheSameWeightsInPlace) {
  for (const Form form : {Form::two_bit, Form::three_trits})
    for (const auto& [n, k] : {std::pair{1, 1}, {19, 150}, {64, 4096}, {33, 97}}) {
      const PackedWeights packed = packed_of(n, k, form);
      Saved saved(packed);
      const auto keeper = std::make_shared<int>();
      {
        const auto viewed = PackedWeights::view(saved.bytes(), keeper);
        ASSERT_TRUE(viewed) << viewed.error().message;
        EXPECT_EQ(viewed->unpack().values, packed.unpack().values);
        EXPECT_EQ(viewed->unpack().scales, packed.unpack().scales);
        EXPECT_EQ(keeper.use_count(), 2);
        const auto problem = reference::make(3, n, k, reference::Fill::random, 5);
        const auto y = *Activations::from_int8(problem.y, 3, k);
        std::vector<std::int32_t> ours(static_cast<std::size_t>(3 * n)), theirs = ours;
        const auto engine = *CpuEngine::create({{}, false, 1});
        ASSERT_TRUE(engine.multiply(packed, y, std::span(ours)));
        ASSERT_TRUE(engine.multiply(*viewed, y, std::span(theirs)));
        EXPECT_EQ(ours, theirs);
        Saved again(*viewed);
        EXPECT_EQ(std::memcmp(again.bytes().data(), saved.bytes().data(), saved.size), 0);
      }
      EXPECT_EQ(keeper.use_count(), 1);
      EXPECT_EQ(saved.kind(Contents::trust), "ok");
    }
}

PackedWeights with_groups(std::int64_t n, std::int64_t k, std::int64_t group) {
  const auto codes = reference::make(1, n, k, reference::Fill::random, 5).weights.values;
  std::vector<float> scales(static_cast<std::size_t>(n * ((k + group - 1) / group)));
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = 0.25f + static_cast<float>(i % 7);
  return *PackedWeights::pack(codes, {n, k}, {std::span<const float>(scales), group});
}

TEST(SavedWeights, KeepTheScalesOfGroups) {
  const PackedWeights packed = with_groups(19, 150, 32);
  Saved saved(packed);
  const auto viewed = PackedWeights::view(saved.bytes());
  ASSERT_TRUE(viewed) << viewed.error().message;
  EXPECT_EQ(viewed->scale_group(), 32);
  EXPECT_EQ(viewed->group_scales(), packed.group_scales());
  EXPECT_EQ(viewed->unpack().values, packed.unpack().values);
}

TEST(SavedWeights, AnyByteThatIsChangedIsFound) {
  for (const PackedWeights& packed :
       {packed_of(19, 150, Form::two_bit), packed_of(19, 150, Form::three_trits),
        with_groups(19, 150, 64)}) {
    Saved saved(packed);
    for (std::size_t i = 0; i < saved.size; ++i) {
      saved.at(i) ^= std::byte{1};
      EXPECT_NE(saved.kind(), "ok") << to_string(packed.form()) << " byte " << i;
      saved.at(i) ^= std::byte{1};
    }
    EXPECT_EQ(saved.kind(), "ok");
  }
}

TEST(SavedWeights, WhatIsWrongIsSaid) {
  const PackedWeights packed = packed_of(19, 150, Form::two_bit);
  Saved saved(packed);
  const auto changed = [&](auto change) {
    Saved other(packed);
    change(other);
    return other.kind();
  };
  const auto put = [](Saved& s, std::size_t at, auto value) {
    std::memcpy(s.bytes().data() + at, &value, sizeof value);
  };
  EXPECT_EQ(changed([&](Saved& s) { s.resize(63); }), "truncated");
  EXPECT_EQ(changed([&](Saved& s) { s.resize(s.size - 1); }), "truncated");
  EXPECT_EQ(changed([&](Saved& s) { s.resize(s.size + 1); }), "wrong_size");
  EXPECT_EQ(changed([&](Saved& s) { put(s, 0, 'x'); }), "bad_input");
  EXPECT_EQ(changed([&](Saved& s) { put(s, 8, 2u); }), "bad_input");
  EXPECT_EQ(changed([&](Saved& s) { put(s, 12, 2u); }), "bad_input");
  EXPECT_EQ(changed([&](Saved& s) { put(s, 63, 'x'); }), "bad_input");
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(changed([&](Saved& s) { put(s, 16, std::int64_t{0}); }), "wrong_size");
  EXPECT_EQ(changed([&](Saved& s) { put(s, 16, least); }), "wrong_size");
  EXPECT_EQ(changed([&](Saved& s) { put(s, 16, std::int64_t{1} << 62); }), "too_large");
  EXPECT_EQ(changed([&](Saved& s) { put(s, 24, (std::int64_t{1} << 22) + 1); }), "too_large");
  EXPECT_EQ(changed([&](Saved& s) { put(s, 24, std::int64_t{1} << 22); }), "truncated");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(changed([&](Saved& s) { put(s, s.size - 4, nan); }), "bad_input");
  const auto unaligned = PackedWeights::view(saved.bytes().subspan(1));
  ASSERT_FALSE(unaligned);
  std::vector<std::byte> room(saved.size + 1);
  const auto done = packed.save(room);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::wrong_size);
}

}  // namespace
}  // namespace gpuready::ternary
