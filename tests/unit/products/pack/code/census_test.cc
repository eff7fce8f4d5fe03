// Device code is found wherever it stands, by what is in it; what only looks so is not.
#include "pack/code/census.h"

#include <gtest/gtest.h>

#include <random>

#include "pack/code/file_report.h"
#include "unit/products/pack/code/fixtures.h"

namespace gpuready::pack {
namespace {

using namespace fixture;

// "fat_binary .rodata x2: sm_80/zstd compute_90/PTX 8.7", one line a group.
std::string summary(const FileReport& report) {
  std::string text;
  for (const CarrierGroup& group : report.groups) {
    text += fmt::format("{} {} x{}:", name_of(group.carrier), group.section, group.count);
    for (const DeviceCode& code : group.codes) {
      text += " " + code.target();
      if (code.ptx_isa)
        text += fmt::format("/{}.{}", code.ptx_isa->parts[0], code.ptx_isa->parts[1]);
      if (code.compression != Compression::none)
        text += fmt::format("/{}", name_of(code.compression));
      if (code.relocatable) text += "/link";
      if (code.empty) text += "/empty";
      if (code.suffix_unknown) text += "/?";
      if (code.kind == CodeKind::lto_ir) text += "/lto";
    }
    text += "\n";
  }
  return text;
}
std::string summary(const Data& bytes) { return summary(inspect_bytes("file", bytes)); }

Data host_elf(const std::vector<ElfPart>& parts) { return elf({.type = 3, .machine = 62}, parts); }

TEST(Census, ReadsEveryKindOfEntry) {
  const Data file = fat_binary({
      cubin_entry(75),
      cubin_entry(90, 'a', 'l'),
      cubin_entry(100, 'f', 'z'),
      ptx_entry(80, {8, 7}, 'z'),
      entry({.kind = 8, .architecture = 80, .payload = raw("linker input"), .packed = 'z'}),
      entry({.kind = 64, .architecture = 70, .payload = raw(ptx(70)), .isa = {7, 0}}),
      entry({.kind = 32, .architecture = 0, .payload = raw("index")}),
  });
  EXPECT_EQ(summary(file),
            "fat_binary  x1: sm_75 sm_90a/lz4 sm_100f/zstd compute_80/8.7/zstd "
            "lto_80/zstd/lto compute_70/7.0/link ?\n");
}

TEST(Census, TellsStubsAndWhatMustBeLinked) {
  const Data file = fat_binary({
      cubin_entry(70, 0, 'z', false),
      cubin_entry(75, 0, 'l', false),
      cubin_entry(80, 0, 0, false),
      ptx_entry(80, {8, 0}, 'l', false),
      entry({.architecture = 86, .payload = cubin({.architecture = 86, .relocatable = true})}),
      entry({.architecture = 89,
             .payload = cubin({.architecture = 89, .relocatable = true, .code_bytes = 1u << 20}),
             .packed = 'l'}),
  });
  EXPECT_EQ(summary(file),
            "fat_binary  x1: sm_70/zstd/empty sm_75/lz4/empty sm_80/empty sm_86/link "
            "sm_89/lz4/link compute_80/8.0/lz4/empty\n");
}

TEST(Census, TellsStubsOfAnySizeThatLz4Packs) {
  const auto large = [](int architecture, bool kernel) {
    return entry({.architecture = static_cast<std::uint32_t>(architecture),
                  .payload = cubin(
                      {.architecture = architecture, .kernel = kernel, .constant_bytes = 100'000}),
                  .packed = 'l'});
  };
  EXPECT_EQ(summary(fat_binary({large(80, true), large(86, false)})),
            "fat_binary  x1: sm_80/lz4 sm_86/lz4/empty\n");
}

TEST(Census, FindsContainersInEverySectionAndSaysWhere) {
  const Data one = fat_binary({cubin_entry(80)}), other = fat_binary({ptx_entry(90, {8, 0})});
  Data twice = one;
  append(twice, one);
  const Data file = host_elf({{".text", raw("code")},
                              {".nv_fatbin", twice},
                              {".rodata", other},
                              {".data", one},
                              {".ldata", one},
                              {".cask_resource", one},
                              {"__nv_relfatbin", one}});
  EXPECT_EQ(summary(file),
            "fat_binary .nv_fatbin x2: sm_80\n"
            "fat_binary .rodata x1: compute_90/8.0\n"
            "fat_binary .data x1: sm_80\n"
            "fat_binary .ldata x1: sm_80\n"
            "fat_binary .cask_resource x1: sm_80\n"
            "fat_binary __nv_relfatbin x1: sm_80/link\n");
}

TEST(Census, FindsCodeWithoutAContainer) {
  Data ldata = raw("padding");
  append(ldata, zstd(cubin({.architecture = 90, .suffix = 'a', .code_bytes = 300000})));
  append(ldata, zstd(cubin({.architecture = 120, .suffix = 'f'})));
  append(ldata, zstd(raw("some text that is no code, and so is passed over")));
  Data rodata = cubin({.architecture = 86, .old_abi = true});
  append(rodata, raw("between"));
  append(rodata, cubin({.architecture = 103}));
  append(rodata, raw(ptx(75, "6.4")));
  const Data file = host_elf({{".ldata", ldata}, {".rodata", rodata}});
  EXPECT_EQ(summary(file),
            "zstd_cubin .ldata x1: sm_90a/zstd\n"
            "zstd_cubin .ldata x1: sm_120f/zstd\n"
            "cubin .rodata x1: sm_86\n"
            "cubin .rodata x1: sm_103\n"
            "ptx_text .rodata x1: compute_75/6.4\n");
}

// Text of PTX counts to the end of its last function, LTO-IR that is a file of its own as a whole.
TEST(Census, CountsBarePiecesInFull) {
  const auto module = ptx(75, "6.4").substr(std::string("//\n// made by hand\n").size());
  const auto bytes_of = [](const Data& file) {
    std::vector<std::uint64_t> sizes;
    for (const auto& group : inspect_bytes("file", file).groups) sizes.push_back(group.bytes);
    return sizes;
  };
  using Sizes = std::vector<std::uint64_t>;
  EXPECT_EQ(bytes_of(raw(module)), Sizes{module.size()});
  EXPECT_EQ(bytes_of(raw(module + std::string("\0words after it", 15))), Sizes{module.size()});
  EXPECT_EQ(bytes_of(raw(module + "words after it")), Sizes{module.size()});
  // Two one after the other, and one that is longer than a window.
  EXPECT_EQ(bytes_of(raw(module + ptx(80, "7.0").substr(19))),
            (Sizes{module.size(), module.size()}));
  std::string longer = module;
  while (longer.size() < 300'000) longer += ".visible .func f() { ret; }\n";
  EXPECT_EQ(bytes_of(raw(longer)), Sizes{longer.size()});
  // Code of another kind that begins right behind it is still found.
  Data both = raw(module);
  append(both, fat_binary({cubin_entry(80)}));
  const auto found = inspect_bytes("file", both);
  ASSERT_EQ(found.groups.size(), 2u);
  EXPECT_EQ(found.groups[0].bytes, module.size());
  EXPECT_EQ(found.groups[1].carrier, Carrier::fat_binary);

  Data lto(2192, 0x5a);
  for (std::size_t i = 0; const int byte : {0xed, 0x43, 0x4e, 0x7f, 1, 0x41})
    lto[i++] = static_cast<std::uint8_t>(byte);
  lto[26] = 0x20, lto[27] = 0x03;  // 800
  EXPECT_EQ(bytes_of(lto), Sizes{2192});
}

TEST(Census, ReadsAmdsBundles) {
  const Data plain = bundle({{"host-x86_64-unknown-linux-gnu-", {}},
                             {"hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", raw("code")},
                             {"hipv4-amdgcn-amd-amdhsa--gfx1100", raw("code")}});
  EXPECT_EQ(summary(plain), "offload_bundle  x1: gfx1100 gfx90a:sramecc+:xnack-\n");
  for (const std::uint16_t version : {1, 2, 3})
    EXPECT_EQ(summary(compressed_bundle(plain, version)),
              "offload_bundle  x1: gfx1100/zstd gfx90a:sramecc+:xnack-/zstd\n")
        << version;
  const Data object =
      elf({.os_abi = 64, .abi_version = 4, .type = 3, .machine = 224, .flags = 0x01000151},
          {{".text", raw("code")}});
  EXPECT_EQ(summary(object), "amd_code  x1: gfx9-generic\n");
}

TEST(Census, IsNotTakenInByLookAlikes) {
  const Data container = fat_binary({cubin_entry(80)});
  // The magic as the immediate of an instruction, and containers that cannot be.
  Data immediate = raw("\xba");
  put(immediate, 1, std::uint32_t{0xba55ed50});
  append(immediate, Data(64, 0x90));
  EXPECT_EQ(summary(immediate), "");
  for (const auto& [at, value] : {std::pair{4, 2}, {6, 24}, {16, 3}, {20, 8}, {20, 255}}) {
    Data wrong = container;
    wrong[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(value);
    // The cubin inside is found by itself then.
    EXPECT_EQ(summary(wrong), "cubin  x1: sm_80\n") << at;
  }
  EXPECT_EQ(summary(raw("CCOB__CLANG_OFFLOAD_BUNDLE__.version 8.0 but no target")), "");
  EXPECT_EQ(summary(raw(".version %d.%d\n.target sm_%d")), "");
  EXPECT_EQ(summary(bundle({})), "");  // of no entries
  EXPECT_EQ(summary(raw("__CLANG_OFFLOAD_BUNDLE__")), "");
}

TEST(Census, SaysWhatIsDamaged) {
  Data file = fat_binary({cubin_entry(80), cubin_entry(90)});
  const std::size_t second = 16 + cubin_entry(80).size();
  file[second] = 3;  // no kind
  const FileReport report = inspect_bytes("file", file);
  EXPECT_EQ(summary(report), "fat_binary  x1: sm_80\ncubin  x1: sm_90\n");
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0],
            fmt::format("the fat_binary at byte 0: its entry 1 at byte {} is damaged", second));
}

// As in a library whose every object file holds the same architectures.
TEST(Census, CodeOfTheSameKindsIsDistinguishedOnce) {
  std::vector<std::pair<std::string, Data>> entries;
  for (int i = 0; i < 1024; ++i)
    entries.emplace_back(fmt::format("hip-amdgcn-amd-amdhsa--gfx{:04}", i), raw("x"));
  const Data one = bundle(entries);
  Data file;
  for (int i = 0; i < 300; ++i) append(file, one);  // 307,200 pieces of code, of 1024 kinds
  const FileReport report = inspect_bytes("file", file);
  EXPECT_EQ(report.problems, std::vector<std::string>());
  ASSERT_EQ(report.groups.size(), 1u);
  EXPECT_EQ(report.groups[0].count, 300u);
  EXPECT_EQ(report.groups[0].codes.size(), 1024u);
}

// In one container 4095 kinds are distinguished, however often each occurs.
TEST(Census, CodeOfTooManyKindsInOneContainerIsAProblem) {
  const auto container = [](int kinds, int entries) {
    std::vector<Data> all;
    for (int i = 0; i < entries; ++i)
      all.push_back(
          entry({.kind = 64, .architecture = 80, .payload = Data(8), .isa = {7, i % kinds}}));
    return fat_binary(all);
  };
  const auto kinds_in = [](const FileReport& report) {
    return report.groups.size() == 1 ? report.groups[0].codes.size() : 0;
  };
  const std::string too_many =
      "the fat_binary at byte 0: it holds more kinds of code than are distinguished";
  for (const auto& [kinds, entries] : {std::pair{2, 10'000}, {4095, 4095}, {4095, 4110}}) {
    const auto file = container(kinds, entries);
    const auto report = inspect_bytes("file", file);
    EXPECT_EQ(report.problems, std::vector<std::string>()) << kinds;
    EXPECT_EQ(kinds_in(report), static_cast<std::size_t>(kinds));
    EXPECT_EQ(report.code_bytes, file.size());
  }
  for (const int entries : {4096, 4110}) {
    const auto report = inspect_bytes("file", container(4096, entries));
    EXPECT_EQ(report.problems, std::vector{too_many}) << entries;
    EXPECT_EQ(kinds_in(report), 4096u);
  }
}

// However the bytes come, what is found is the same.
TEST(Census, IsTheSameOfAStream) {
  Data file = raw("start");
  append(file, fat_binary({cubin_entry(80), ptx_entry(90, {8, 0}, 'z')}));
  append(file, Data((1u << 20) - file.size() - 3, 0xaa));  // the next lies across a window's end
  append(file, fat_binary({cubin_entry(86, 0, 'l')}));
  append(file, zstd(cubin({.architecture = 90, .suffix = 'a', .code_bytes = 3u << 20})));
  // A frame that takes more than one look, and as many bytes as are asked for.
  Data large = cubin({.architecture = 89, .constant_bytes = 3u << 20});
  std::mt19937 random(7);
  for (std::size_t i = 1024; i < large.size() - 1024; ++i)
    large[i] = static_cast<std::uint8_t>(random());
  large = zstd(large);
  ASSERT_GT(large.size(), 2u << 20);
  append(file, large);
  append(file, cubin({.architecture = 100, .code_bytes = 2u << 20}));
  append(file, raw(ptx(75)));
  MemorySource memory(file);
  const Census wanted = take_census(memory, {});
  ASSERT_EQ(wanted.groups.size(), 6u);
  EXPECT_EQ(wanted.groups[3].bytes, large.size());
  for (const std::size_t piece : {std::size_t{1}, std::size_t{4096}, std::size_t{1} << 22}) {
    std::size_t at = 0;
    StreamSource stream([&](std::span<std::uint8_t> to) -> Result<std::size_t> {
      const auto size = std::min({to.size(), piece, file.size() - at});
      std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(at), size, to.begin());
      at += size;
      return size;
    });
    const Census census = take_census(stream, {});
    EXPECT_EQ(census.file_bytes, file.size());
    EXPECT_TRUE(census.problems.empty());
    ASSERT_EQ(census.groups.size(), wanted.groups.size());
    for (std::size_t i = 0; i < census.groups.size(); ++i) {
      EXPECT_EQ(census.groups[i].codes, wanted.groups[i].codes);
      EXPECT_EQ(census.groups[i].first_offset, wanted.groups[i].first_offset);
      EXPECT_EQ(census.groups[i].bytes, wanted.groups[i].bytes);
    }
  }
}

// Cut anywhere, or with any byte changed: nothing is read that is not there (sanitizers say so),
// and an answer comes.
TEST(Census, SurvivesDamageAnywhere) {
  Data file =
      fat_binary({cubin_entry(80, 0, 'z'), cubin_entry(90, 'a', 'l'), ptx_entry(90, {8, 0})});
  append(file, bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", raw("code")}}));
  append(file, compressed_bundle(bundle({{"hip-amdgcn-amd-amdhsa--gfx90a", raw("code")}}), 2));
  append(file, zstd(cubin({.architecture = 120})));
  for (std::size_t size = 0; size < file.size(); size += 7)
    inspect_bytes("cut", Bytes(file).first(size));
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    Data changed = file;
    for (int i = 0; i < 4; ++i)
      changed[random() % changed.size()] = static_cast<std::uint8_t>(random());
    inspect_bytes("changed", changed);
  }
}

}  // namespace
}  // namespace gpuready::pack
