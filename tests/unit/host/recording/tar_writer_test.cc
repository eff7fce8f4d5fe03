// The bytes of POSIX.1-1988's ustar format, and GNU tar's for what does not fit.
#include "host/recording/tar_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace gpuready {
namespace {

using namespace std::string_literals;

// What a header that leaves bytes as they were would show.
void dirty_stack() {
  volatile char bytes[8192];
  std::fill(std::begin(bytes), std::end(bytes), '\xff');
}

// The fields at their offsets; the others are NULs.
struct Field {
  std::size_t at;
  std::string text;
};
std::string block(std::initializer_list<Field> fields) {
  std::string out(512, '\0');
  const auto put = [&](const Field& field) {
    out.replace(field.at, field.text.size(), field.text);
  };
  for (const auto& field : {Field{100, "0000644"},
                            {108, "0000000"},
                            {116, "0000000"},
                            {124, "00000000000"},
                            {136, "00000000000"},
                            {148, "        "},
                            {156, "0"},
                            {257,
                             "ustar\0"
                             "00"s}})
    put(field);
  for (const auto& field : fields) put(field);
  unsigned sum = 0;
  for (const char c : out) sum += static_cast<unsigned char>(c);
  std::string digits;
  for (int i = 0; i < 6; ++i, sum /= 8)
    digits.insert(digits.begin(), static_cast<char>('0' + sum % 8));
  put({148, digits + "\0 "s});
  return out;
}

std::string header_of(const TarEntry& entry) {
  dirty_stack();
  return tar_header(entry);
}

TEST(TarWriter, AHeaderHasEachFieldAtItsPlaceAndNothingElse) {
  EXPECT_EQ(header_of({.name = "files/a"}), block({{0, "files/a"}}));
  EXPECT_EQ(header_of({.name = "a", .size_bytes = 5, .mode = 0755}),
            block({{0, "a"}, {100, "0000755"}, {124, "00000000005"}}));
  EXPECT_EQ(header_of({.name = "l", .link = "files/a"}),
            block({{0, "l"}, {156, "2"}, {157, "files/a"}}));
  EXPECT_EQ(header_of({.name = "x", .type = 'L'}), block({{0, "x"}, {156, "L"}}));
  EXPECT_EQ(header_of({.name = "l", .link = std::string(100, 't')}),
            block({{0, "l"}, {156, "2"}, {157, std::string(100, 't')}}));
}

TEST(TarWriter, ASizeHasElevenOctalDigitsAndFrom8GiBOnTwelveBytes) {
  constexpr std::uint64_t kGiB8 = std::uint64_t{1} << 33;
  const auto size = [](std::uint64_t bytes) {
    return header_of({.name = "a", .size_bytes = bytes}).substr(124, 12);
  };
  EXPECT_EQ(size(0), "00000000000\0"s);
  EXPECT_EQ(size(std::uint64_t{1} << 30), "10000000000\0"s);
  EXPECT_EQ(size(kGiB8 - 1), "77777777777\0"s);
  EXPECT_EQ(size(kGiB8), "\x80\0\0\0\0\0\0\x02\0\0\0\0"s);
  EXPECT_EQ(size(0x0102030405060708), "\x80\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08"s);
}

TEST(TarWriter, ALongNameIsCutAtASlash) {
  const auto n = [](std::size_t count) { return std::string(count, 'n'); };
  const auto p = [](std::size_t count) { return std::string(count, 'p'); };
  for (const auto& [name, fits] : {std::pair(""s, false),
                                   {n(1), true},
                                   {n(100), true},
                                   {n(101), false},
                                   {p(155) + "/" + n(100), true},
                                   {p(156) + "/" + n(100), false},
                                   {p(155) + "/" + n(101), false},
                                   {p(101) + "/", false},
                                   {"/" + n(100), false},
                                   {p(99) + "/" + p(99) + "/" + n(99), false},
                                   {p(50) + "/" + p(99) + "/" + n(99), true}})
    EXPECT_EQ(tar_name_fits(name), fits) << name.size() << " bytes: " << name;
  EXPECT_EQ(header_of({.name = n(100)}), block({{0, n(100)}}));
  EXPECT_EQ(header_of({.name = p(155) + "/" + n(100)}), block({{0, n(100)}, {345, p(155)}}));
  EXPECT_EQ(header_of({.name = p(60) + "/" + n(60)}), block({{0, n(60)}, {345, p(60)}}));
}

TEST(TarWriter, ANameThatDoesNotFitIsAnEntryBeforeIts) {
  for (const std::size_t size : {101u, 511u, 512u}) {
    const std::string name(size, 'n');
    const auto entry = tar_long_name(name);
    std::string octal;
    for (auto rest = size + 1; octal.size() < 11; rest /= 8)
      octal.insert(octal.begin(), static_cast<char>('0' + rest % 8));
    EXPECT_EQ(entry.substr(0, 512), block({{0, "././@LongLink"}, {124, octal}, {156, "L"}}));
    EXPECT_EQ(entry.size(), size < 512 ? 1024u : 1536u) << size;
    EXPECT_EQ(entry.substr(512), name + std::string(entry.size() - 512 - size, '\0')) << size;
  }
}

TEST(TarWriter, FilesFillBlocksAndTwoEmptyOnesEndTheArchive) {
  std::string tar;
  for (const std::size_t size : {0u, 1u, 512u, 513u}) {
    tar.clear();
    append_tar_file(tar, "a", std::string(size, 'x'));
    EXPECT_EQ(tar.size(), size == 0 ? 512u : size <= 512 ? 1024u : 1536u);
    EXPECT_EQ(tar.substr(512), std::string(size, 'x') + std::string(tar.size() - 512 - size, '\0'));
  }
  tar.clear();
  append_tar_end(tar);
  EXPECT_EQ(tar, std::string(1024, '\0'));
}

}  // namespace
}  // namespace gpuready
