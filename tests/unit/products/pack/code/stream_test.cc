// A file whose bytes go by once tells the same as one that is mapped.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "host/mapped_file.h"
#include "pack/code/file_report.h"
#include "unit/products/pack/code/fixtures.h"

namespace gpuready::pack {
namespace {

using namespace fixture;

FileReport streamed(Bytes bytes, std::size_t piece) {
  ElfPieces pieces;
  StreamSource source(
      [&, at = std::size_t{0}](std::span<std::uint8_t> to) mutable -> Result<std::size_t> {
        const auto size = std::min({to.size(), piece, bytes.size() - at});
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size, to.begin());
        at += size;
        pieces.add(to.first(size));
        return size;
      },
      bytes.size());
  return inspect_source("file", source, pieces);
}

void expect_same(Bytes bytes, std::size_t piece) {
  const FileReport whole = inspect_bytes("file", bytes), parts = streamed(bytes, piece);
  EXPECT_EQ(parts.bytes, whole.bytes);
  EXPECT_EQ(parts.code_bytes, whole.code_bytes);
  EXPECT_EQ(parts.problems, whole.problems);
  ASSERT_EQ(parts.elf.has_value(), whole.elf.has_value());
  if (!whole.elf) return;
  EXPECT_EQ(parts.elf->needed, whole.elf->needed);
  EXPECT_EQ(parts.elf->symbol_versions, whole.elf->symbol_versions);
  ASSERT_EQ(parts.groups.size(), whole.groups.size());
  for (std::size_t i = 0; i < whole.groups.size(); ++i)
    EXPECT_EQ(parts.groups[i].section, whole.groups[i].section);
}

// Larger than what is kept of its start, so that what is at the end must have been kept, too.
TEST(Stream, TellsTheSameOfALargeProgram) {
  const auto program = MappedFile::open(GPUREADY_BINARY);
  ASSERT_TRUE(program);
  ASSERT_FALSE(inspect_bytes("", program->bytes()).elf->needed.empty());
  expect_same(program->bytes(), 1u << 20);
}

TEST(Stream, KeepsTheSectionsAtTheEnd) {
  const Data file = elf({.type = 3, .machine = 62}, {{".nv_fatbin", fat_binary({cubin_entry(80)})},
                                                     {".rodata", Data(40u << 20)},
                                                     {".data", fat_binary({cubin_entry(90)})}});
  expect_same(file, 100'001);
  EXPECT_EQ(streamed(file, 1u << 20).groups.at(1).section, ".data");
  // What is kept of the end begins in what is kept of the start.
  const Data shorter =
      elf({.type = 3, .machine = 62},
          {{".nv_fatbin", fat_binary({cubin_entry(80)})}, {".rodata", Data(33u << 20)}});
  expect_same(shorter, 100'001);
  EXPECT_EQ(streamed(shorter, 1u << 20).groups.at(0).section, ".nv_fatbin");
}

TEST(Stream, EndsWhereTheBytesDo) {
  const Data file =
      elf({.type = 3, .machine = 62}, {{".nv_fatbin", fat_binary({cubin_entry(80)})}});
  for (std::size_t size = 0; size < file.size(); size += 7) {
    expect_same(Bytes(file).first(size), 13);
    const auto cut = inspect_bytes("", Bytes(file).first(size)).elf;
    EXPECT_TRUE(!cut || cut->problem.starts_with("it is cut short")) << size;
  }
  EXPECT_EQ(inspect_bytes("", file).elf->problem, "");
}

TEST(Stream, NamesWhatLinuxDoesNotLoad) {
  EXPECT_EQ(inspect_bytes("", raw("MZ..")).foreign, "Windows library or program (PE)");
  EXPECT_EQ(inspect_bytes("", raw("\xcf\xfa\xed\xfe..")).foreign,
            "macOS library or program (Mach-O)");
  Data narrow = elf({.type = 3, .machine = 3}, {});
  narrow[4] = 1;
  EXPECT_EQ(inspect_bytes("", narrow).foreign, "32-bit ELF file");
  EXPECT_EQ(inspect_bytes("", elf({.type = 3, .machine = 62}, {})).foreign, "");
}

// Pages that are not a file's would come back empty.
TEST(Source, OnlyAMappedFilesPagesAreGivenBack) {
  constexpr std::size_t kPage = 4096, kBytes = 20u << 20;
  std::vector<std::uint8_t> memory(kBytes + kPage, 0x5a);
  void* first = memory.data();
  std::size_t room = memory.size();
  ASSERT_NE(std::align(kPage, kBytes, first, room), nullptr);
  const Bytes bytes(static_cast<const std::uint8_t*>(first), kBytes);
  MemorySource source(bytes);
  for (int step = 0; step < 2; ++step) source.skip(9u << 20);
  EXPECT_EQ(source.left(), 2u << 20);
  EXPECT_TRUE(std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0x5a; }));
  source.skip(kBytes);
  EXPECT_EQ(source.position(), kBytes);
}

}  // namespace
}  // namespace gpuready::pack
