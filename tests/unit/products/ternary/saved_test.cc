// The saved form of packed weights, and what is said of forms that are wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "reference.h"
#include "ternary/packed.h"

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

// FNV-1a, which the header has of itself with 0 for it, the sums and the scales.
std::uint64_t fnv(std::span<const std::byte> header, std::span<const std::byte> rest) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const auto& bytes : {header, rest})
    for (const std::byte byte : bytes)
      hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

// Files live as long as their version is read. The constants are computed by hand.
TEST(SavedWeights, OfVersion1AreTheseBytes) {
  Codes codes;
  codes.shape = {1, 1};
  codes.values = {0};
  codes.scales = {0.5f};
  Saved saved(*PackedWeights::pack(codes, Form::two_bit));
  std::vector<std::byte> want;
  const auto add = [&](auto value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    want.insert(want.end(), bytes.begin(), bytes.end());
  };
  for (const char c : std::string_view("gputrits")) add(c);
  add(std::uint32_t{1});  // version
  add(std::uint32_t{0});  // two_bit
  add(std::int64_t{1});
  add(std::int64_t{1});
  add(std::uint64_t{0x242e7502820a5e68});  // of the header, the sums and the scales
  add(std::int64_t{0});                    // no groups
  add(std::uint64_t{0x2ff0130e54a881fe});  // of the panels
  add(std::uint64_t{0});
  for (int i = 0; i < 64; ++i) add(std::uint8_t{0x55});  // 0 is saved as 1, and so is padding
  for (int i = 0; i < 16; ++i) add(std::int32_t{0});
  add(0.5f);
  const auto bytes = saved.bytes();
  EXPECT_EQ(std::vector(bytes.begin(), bytes.end()), want);
  std::vector<std::byte> counted;
  for (int i = 0; i < 23; ++i) counted.push_back(static_cast<std::byte>(i));
  EXPECT_EQ(saved_contents_hash(counted, 1, 1), 0x645d3b6556f952c7u);
  EXPECT_EQ(saved_contents_hash(std::span(counted).first(22), 2, 2), 0x5eca3b06c48d644cu);
}

// Whoever writes a file can make its checksums right; codes, sums and scales are looked at.
TEST(SavedWeights, RightChecksumsDoNotExcuseWrongContents) {
  constexpr std::size_t kPanel = 64, kPanels = 3, kSums = 64 + kPanels * kPanel;
  const auto said = [](const PackedWeights& packed, auto change, std::uint64_t contents = 0) {
    Saved saved(packed);
    const auto bytes = saved.bytes();
    change(saved);
    contents += saved_contents_hash(bytes.subspan(64, kPanels * kPanel), kPanels, 1);
    std::memcpy(bytes.data() + 48, &contents, 8);
    std::memset(bytes.data() + 32, 0, 8);
    const auto checksum = fnv(bytes.first(64), bytes.subspan(kSums));
    std::memcpy(bytes.data() + 32, &checksum, 8);
    EXPECT_EQ(saved.kind(Contents::trust), "ok");
    const auto viewed = PackedWeights::view(bytes, nullptr, Contents::check, 2);
    return viewed ? "ok" : viewed.error().message;
  };
  const auto set = [](std::initializer_list<std::pair<std::size_t, int>> values) {
    return [values](Saved& saved) {
      for (const auto& [at, value] : values) saved.at(at) = static_cast<std::byte>(value);
    };
  };
  const auto damaged = [](const char* rows) {
    return std::string("the saved weights of rows ") + rows +
           " are damaged: an invalid code or a wrong sum";
  };
  Codes codes;
  codes.shape = {35, 15};
  codes.values.assign(35 * 15, 0);
  codes.scales = {1.0f};
  const auto packed = *PackedWeights::pack(codes, Form::two_bit);
  EXPECT_EQ(said(packed, set({})), "ok");
  EXPECT_EQ(said(packed, set({{64, 0x56}})), damaged("0 to 15"));
  EXPECT_EQ(said(packed, set({{64, 0x57}, {65, 0x54}, {66, 0x54}})), damaged("0 to 15"))
      << "3, 0 and 0 add up to three of 1";
  EXPECT_EQ(said(packed, set({{64 + kPanel, 0xFF}, {64 + 2 * kPanel, 0xFF}})), damaged("16 to 31"));
  // 2 and 0 add up to two of 1: in the row behind the last one, and in a row's last column and its
  // padding.
  EXPECT_EQ(said(packed, set({{64 + 2 * kPanel + 60, 0x56}, {64 + 2 * kPanel + 61, 0x54}})),
            damaged("32 to 34"));
  EXPECT_EQ(said(packed, set({{64 + 2, 0x15}, {64 + 3, 0x95}})), damaged("0 to 15"));
  EXPECT_EQ(said(packed, set({{64 + 1, 0x15}, {64 + 2, 0x95}})), "ok");
  EXPECT_EQ(said(packed, set({{kSums + 4 * 31, 1}})), damaged("16 to 31"));
  EXPECT_EQ(said(packed, set({}), 1), "the saved weights are damaged: another checksum of them");
}

// Groups are those that can be packed, and of two bits; a right checksum does not excuse a scale.
TEST(SavedWeights, GroupsAndTheirScalesAreChecked) {
  constexpr std::size_t kGroup = 40, kSums = 64 + 2 * 3 * 64, kScales = kSums + 32 * 4;
  const auto said = [](const PackedWeights& packed, std::size_t at, auto value) {
    Saved saved(packed);
    const auto bytes = saved.bytes();
    std::memcpy(bytes.data() + at, &value, sizeof value);
    std::memset(bytes.data() + 32, 0, 8);
    const auto checksum = fnv(bytes.first(64), bytes.subspan(kSums));
    std::memcpy(bytes.data() + 32, &checksum, 8);
    const auto viewed = PackedWeights::view(bytes);
    return viewed ? "ok" : viewed.error().message;
  };
  const auto grouped = with_groups(19, 48, 32);  // two panels, of three blocks and two groups
  EXPECT_EQ(said(grouped, kGroup, std::int64_t{32}), "ok");
  for (const std::int64_t wrong : {-32, 16, 33, 512})
    EXPECT_EQ(said(grouped, kGroup, wrong), "the saved packed weights have scales for groups of " +
                                                std::to_string(wrong) + ", which there are not");
  EXPECT_EQ(said(packed_of(19, 48, Form::three_trits), kGroup, std::int64_t{32}),
            "the saved packed weights have scales for groups of 32, which there are not");
  const auto scale = [&](std::size_t panel, std::size_t group, std::size_t row, float value) {
    return said(grouped, kScales + ((panel * 2 + group) * 16 + row) * 4, value);
  };
  const std::string behind = "the saved scales behind the last row are not zero";
  EXPECT_EQ(scale(1, 0, 2, 3.0f), "ok");
  EXPECT_EQ(scale(1, 0, 3, 0.0f), "ok");
  EXPECT_EQ(scale(1, 0, 3, 3.0f), behind);
  EXPECT_EQ(scale(1, 1, 15, 3.0f), behind);
  EXPECT_EQ(scale(1, 1, 15, -0.0f), behind);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(scale(0, 0, 0, nan), "a scale is not finite");
  EXPECT_EQ(scale(1, 1, 15, nan), "a scale is not finite");
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
