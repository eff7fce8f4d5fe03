#include "pack/code/magic.h"

#include <gtest/gtest.h>

#include <random>

namespace gpuready::pack {
namespace {

constexpr std::string_view kMagics[] = {"\x50\xed\x55\xba",
                                        "\x28\xb5\x2f\xfd",
                                        "\x7f"
                                        "ELF",
                                        "__CL",
                                        "CCOB",
                                        ".ver",
                                        "\xed"
                                        "CN\x7f"};

// Word by word, as nobody would search a large file.
std::optional<std::size_t> plain_search(std::string_view text) {
  for (std::size_t i = 0; i + 4 <= text.size(); ++i)
    for (const auto magic : kMagics)
      if (text.substr(i, 4) == magic) return i;
  return std::nullopt;
}

TEST(FindMagic, FindsEachOneWhereverItStands) {
  for (std::size_t which = 0; which < std::size(kMagics); ++which)
    for (std::size_t at = 0; at < 150; ++at) {
      std::vector<std::uint8_t> bytes(at + 4 + at % 7, 0x20);
      std::copy(kMagics[which].begin(), kMagics[which].end(),
                bytes.begin() + static_cast<std::ptrdiff_t>(at));
      const auto found = find_magic(bytes);
      ASSERT_TRUE(found) << which << " at " << at;
      EXPECT_EQ(found->offset, at);
      EXPECT_EQ(static_cast<std::size_t>(found->magic), which);
    }
}

TEST(FindMagic, FindsNothingInAPartOfOne) {
  for (const auto magic : kMagics)
    for (std::size_t length = 0; length < 4; ++length) {
      std::vector<std::uint8_t> bytes(200, 0);
      std::copy_n(magic.begin(), length, bytes.end() - static_cast<std::ptrdiff_t>(length));
      EXPECT_FALSE(find_magic(bytes)) << length;
    }
  EXPECT_FALSE(find_magic({}));
}

TEST(FindMagic, AgreesWithAPlainSearchOfBytesThatLookAlike) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    while (text.size() < 300) {
      const auto magic = kMagics[random() % std::size(kMagics)];
      text += random() % 40 == 0 ? magic : magic.substr(random() % 4, random() % 3 + 1);
    }
    const auto wanted = plain_search(text);
    const auto found =
        find_magic({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    ASSERT_EQ(found.has_value(), wanted.has_value());
    if (found) {
      EXPECT_EQ(found->offset, *wanted);
    }
  }
}

}  // namespace
}  // namespace gpuready::pack
