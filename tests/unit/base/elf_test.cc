#include "base/elf.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kAddress = 0x10000;

template <class T>
void append(Bytes& out, const std::vector<T>& values) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
  out.insert(out.end(), bytes, bytes + values.size() * sizeof(T));
}

// Strings by their offsets: 1, 14, 29, 38, 48, 59, 69, 83, 96, 104.
constexpr std::string_view kStrings(
    "\0libstub.so.1\0libneeded.so.2\0/opt/lib\0libc.so.6\0GLIBC_2.17\0GLIBC_2.4\0"
    "GLIBC_PRIVATE\0CXXABI_1.3.9\0VERS1.0\0NEW_ABI_2.34\0",
    117);

// A shared object of one segment with a dynamic section, as a linker lays it out but for addresses
// that differ from offsets. `versions` are what DT_VERNEED points to.
Bytes shared_object(std::vector<Elf64_Dyn> entries = {{DT_NEEDED, {14}},
                                                      {DT_SONAME, {1}},
                                                      {DT_RUNPATH, {29}}},
                    const Bytes& versions = {}) {
  Bytes out(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr));
  entries.push_back({DT_STRTAB, {kAddress + out.size()}});
  out.insert(out.end(), kStrings.begin(), kStrings.end());
  out.resize((out.size() + 7) / 8 * 8);
  if (!versions.empty()) entries.push_back({DT_VERNEED, {kAddress + out.size()}});
  out.insert(out.end(), versions.begin(), versions.end());
  entries.push_back({DT_NULL, {0}});
  const auto dynamic_at = out.size(), dynamic_bytes = entries.size() * sizeof(Elf64_Dyn);
  append(out, entries);
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
  segments[1] = {PT_DYNAMIC,    4, dynamic_at, kAddress + dynamic_at, 0, dynamic_bytes,
                 dynamic_bytes, 8};
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

// System V ABI, "Dynamic Section": DT_RPATH counts only without DT_RUNPATH.
TEST(Elf, ARunPathIsTakenBeforeAnRpath) {
  Bytes bytes;  // a file's names lie in them
  const auto file_of = [&](std::vector<Elf64_Dyn> entries) {
    bytes = shared_object(std::move(entries));
    return *parse_elf(bytes, "stub");
  };
  const Elf64_Dyn rpath{DT_RPATH, {1}}, run_path{DT_RUNPATH, {29}};
  EXPECT_EQ(file_of({rpath}).run_path, "libstub.so.1");
  EXPECT_TRUE(file_of({rpath}).rpath);
  for (const auto& both : {std::vector{rpath, run_path}, {run_path, rpath}, {run_path}}) {
    EXPECT_EQ(file_of(both).run_path, "/opt/lib");
    EXPECT_FALSE(file_of(both).rpath);
  }
  EXPECT_EQ(file_of({}).run_path, "");
  EXPECT_EQ(file_of({}).soname, "");
  EXPECT_TRUE(file_of({}).needed.empty());
}

TEST(Elf, ADynamicSectionWhoseNamesAreMissingIsAProblem) {
  const auto is_problem = [](std::vector<Elf64_Dyn> entries) {
    const auto bytes = shared_object(std::move(entries));
    const auto file = read_elf(pieces_of(bytes));
    EXPECT_EQ(file->problem.empty(), parse_elf(bytes, "stub").has_value());
    return !file->problem.empty() && file->needed.empty() && file->soname.empty();
  };
  const auto end = kStrings.size();
  EXPECT_FALSE(is_problem({{DT_NEEDED, {14}}}));
  EXPECT_TRUE(is_problem({{DT_NEEDED, {0}}})) << "it needs a file without a name";
  EXPECT_TRUE(is_problem({{DT_NEEDED, {14}}, {DT_NEEDED, {end}}, {DT_STRSZ, {end}}}));
  EXPECT_TRUE(is_problem({{DT_SONAME, {end}}, {DT_STRSZ, {end}}}));
  EXPECT_TRUE(is_problem({{DT_NEEDED, {14}}, {DT_STRSZ, {14}}}));
  EXPECT_TRUE(is_problem({{DT_NEEDED, {29}}, {DT_STRSZ, {14}}}));
  EXPECT_TRUE(is_problem({{DT_NEEDED, {14}}, {DT_STRSZ, {28}}})) << "the text does not end";
  EXPECT_FALSE(is_problem({{DT_NEEDED, {14}}, {DT_STRSZ, {29}}}));
}

TEST(Elf, WhatFollowsTheEndOfADynamicSectionIsNotRead) {
  const auto bytes = shared_object({{DT_NULL, {0}}, {DT_NEEDED, {14}}});
  const auto file = parse_elf(bytes, "stub");
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->needed.empty());
  EXPECT_EQ(file->problem, "");
}

// Linux Standard Base, "Symbol Versioning": sets by file, each with a chain of names.
TEST(Elf, TheNewestVersionOfEachNameIsWanted) {
  const auto set = [](std::uint16_t names, std::uint32_t next) {
    return Elf64_Verneed{1, names, 38, sizeof(Elf64_Verneed), next};
  };
  const auto name = [](std::uint32_t text, bool last = false) {
    return Elf64_Vernaux{0, 0, 2, text, last ? 0u : std::uint32_t{sizeof(Elf64_Vernaux)}};
  };
  constexpr std::uint32_t kOldGlibc = 59, kGlibc = 48, kPrivate = 69, kAbi = 83, kPlain = 96,
                          kTwoParts = 104;
  using Versions = std::map<std::string, std::vector<int>>;
  const auto wanted = [](const Bytes& versions, std::uint64_t count) {
    const auto bytes = shared_object({{DT_VERNEEDNUM, {count}}}, versions);
    const auto file = parse_elf(bytes, "stub");
    Versions all;
    for (const auto& [key, version] : file->symbol_versions) all[std::string(key)] = version.parts;
    return all;
  };
  Bytes two;
  append(two, std::vector{set(3, sizeof(Elf64_Verneed) + 3 * sizeof(Elf64_Vernaux))});
  append(two, std::vector{name(kGlibc), name(kOldGlibc), name(kPrivate, true)});
  append(two, std::vector{set(3, 0)});
  append(two, std::vector{name(kAbi), name(kPlain), name(kTwoParts, true)});
  EXPECT_EQ(wanted(two, 2),
            (Versions{{"GLIBC", {2, 17}}, {"CXXABI", {1, 3, 9}}, {"NEW_ABI", {2, 34}}}));
  EXPECT_EQ(wanted(two, 3).size(), 3u) << "the last set has no next";
  EXPECT_EQ(wanted(two, 1), (Versions{{"GLIBC", {2, 17}}}));
  EXPECT_EQ(wanted(two, 0), Versions{});
  Bytes one;
  append(one, std::vector{set(1, 0)});
  append(one, std::vector{name(kOldGlibc), name(kGlibc, true)});
  EXPECT_EQ(wanted(one, 1), (Versions{{"GLIBC", {2, 4}}})) << "of as many names as the set has";
  Bytes ended;
  append(ended, std::vector{set(2, 0)});
  append(ended, std::vector{name(kOldGlibc, true), name(kGlibc, true)});
  EXPECT_EQ(wanted(ended, 1), (Versions{{"GLIBC", {2, 4}}})) << "the chain ends before";
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
