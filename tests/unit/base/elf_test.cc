#include "base/elf.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace gpuready {
namespace {

using Bytes = std::vector<std::uint8_t>;

// A shared object of one segment with a dynamic section, as a linker lays it out but for addresses
// that differ from offsets.
Bytes shared_object() {
  constexpr std::uint64_t kAddress = 0x10000;
  const std::string strings("\0libstub.so.1\0libneeded.so.2\0/opt/lib\0", 38);
  Bytes out(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr));
  const auto strings_at = out.size();
  out.insert(out.end(), strings.begin(), strings.end());
  out.resize((out.size() + 7) / 8 * 8);
  const auto dynamic_at = out.size();
  const Elf64_Dyn entries[] = {{DT_NEEDED, {14}},
                               {DT_SONAME, {1}},
                               {DT_RUNPATH, {29}},
                               {DT_STRTAB, {kAddress + strings_at}},
                               {DT_NULL, {0}}};
  out.resize(out.size() + sizeof entries);
  std::memcpy(&out[dynamic_at], entries, sizeof entries);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = kElfMachineAarch64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  std::memcpy(out.data(), &header, sizeof header);
  Elf64_Phdr segments[2]{};
  segments[0] = {PT_LOAD, 4, 0, kAddress, kAddress, out.size(), out.size(), 4096};
  segments[1] = {PT_DYNAMIC,     4, dynamic_at, kAddress + dynamic_at, 0, sizeof entries,
                 sizeof entries, 8};
  std::memcpy(&out[sizeof header], segments, sizeof segments);
  return out;
}

TEST(Elf, WhatTheLoaderReadsIsFoundByAddress) {
  const auto bytes = shared_object();
  const auto file = parse_elf(bytes, "stub");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->type, ET_DYN);
  EXPECT_EQ(file->machine, kElfMachineAarch64);
  EXPECT_EQ(file->soname, "libstub.so.1");
  ASSERT_EQ(file->needed.size(), 1u);
  EXPECT_EQ(file->needed[0], "libneeded.so.2");
  EXPECT_EQ(file->run_path, "/opt/lib");
}

TEST(Elf, OurOwnProgramHasSectionsAndALoader) {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  const std::string content(std::istreambuf_iterator<char>(in), {});
  const Bytes bytes(content.begin(), content.end());
  const auto file = parse_elf(bytes, "self");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_NE(file->section(".text"), nullptr);
  EXPECT_EQ(file->section(".nowhere"), nullptr);
  EXPECT_NE(file->interpreter.find("/ld"), std::string_view::npos);
  bool libc = false;
  for (const auto name : file->needed) libc |= name == "libc.so.6";
  EXPECT_TRUE(libc);
}

TEST(Elf, OtherFilesAreNamed) {
  const Bytes text = {'#', '!', '/', 'b', 'i', 'n'};
  const auto file = parse_elf(text, "script");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(file.error().message, "script: not an ELF file");
  auto small = shared_object();
  small[EI_CLASS] = ELFCLASS32;
  EXPECT_FALSE(parse_elf(small, "small"));
  EXPECT_TRUE(is_elf(small));
}

// Every prefix, and every byte set to 0xFF: an answer or an error, never a read outside (which the
// sanitizers' build finds).
TEST(Elf, DamagedFilesAreErrorsOrAnswers) {
  const auto whole = shared_object();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto file = parse_elf(cut, "cut");
    EXPECT_FALSE(file) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto bent = whole;
    bent[at] = 0xFF;
    if (const auto file = parse_elf(bent, "bent"); !file) {
      EXPECT_FALSE(file.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace gpuready
