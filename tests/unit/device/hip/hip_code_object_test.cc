// Every embedded code object, read as AMD's loader reads it. Formats and numbers: LLVM's "User
// Guide for AMDGPU Backend" (AMDGPUUsage), sections ELF Code Object and Code Object Metadata.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "base/json.h"
#include "device/hip/hip_images.h"
#include "kernel_abi/memory_params.h"
#include "kernel_abi/record_params.h"
#include "kernels/compute_kernel.h"
#include "kernels/memory_kernels.h"
#include "kernels/record_kernel.h"

namespace gpuready {
namespace {

constexpr unsigned kMachineAmdgpu = 224, kOsAbiAmdHsa = 64, kCodeObjectV4 = 2;  // EM_, ELFOSABI_
constexpr unsigned kMetadataNote = 32;  // NT_AMDGPU_METADATA
// EF_AMDGPU_FEATURE_..._V4: the code serves whether the feature is on or off, or has none of it.
constexpr unsigned kMachMask = 0xff, kXnackMask = 0x300, kSrameccMask = 0xc00;
constexpr unsigned kXnackAny = 0x100, kSrameccAny = 0x400;

constexpr unsigned kMostSharedBytes = 1024;

struct Expected {
  unsigned mach;  // EF_AMDGPU_MACH_AMDGCN_...
  unsigned wave;
};
const std::map<std::string_view, Expected> kTargets = {
    {"gfx900", {0x2c, 64}},  {"gfx906", {0x2f, 64}},  {"gfx908", {0x30, 64}},
    {"gfx90a", {0x3f, 64}},  {"gfx942", {0x4c, 64}},  {"gfx1010", {0x33, 32}},
    {"gfx1030", {0x36, 32}}, {"gfx1031", {0x37, 32}}, {"gfx1032", {0x38, 32}},
    {"gfx1100", {0x41, 32}}, {"gfx1101", {0x46, 32}}, {"gfx1102", {0x47, 32}},
    {"gfx1103", {0x44, 32}}, {"gfx1150", {0x43, 32}}, {"gfx1151", {0x4a, 32}},
    {"gfx1200", {0x48, 32}}, {"gfx1201", {0x4e, 32}},
};
// The kernels that tests launch through HIP, the size of their parameters and of their blocks, and
// how many scalar registers may lie in lanes of vector registers.
struct ExpectedKernel {
  std::size_t parameter_bytes;
  unsigned threads, scalar_spills;
};
const std::map<std::string_view, ExpectedKernel> kKernels = {
    {kMemoryWrite.name, {sizeof(MemoryPassParams), kMemoryKernelThreads, 0}},
    {kMemoryVerify.name, {sizeof(MemoryPassParams), kMemoryKernelThreads, 0}},
    {kMemoryInvert.name, {sizeof(MemoryPassParams), kMemoryKernelThreads, 0}},
    {kMemoryCopy.name, {sizeof(MemoryCopyParams), kMemoryKernelThreads, 0}},
    {kMemoryHammer.name, {sizeof(MemoryHammerParams), kMemoryKernelThreads, 0}},
    {kRecord.name, {sizeof(RecordParams), kRecordThreads, 0}},
    {kCompute.name, {sizeof(ComputeParams), kComputeHipThreads, 16}},
};

class CodeObject {
 public:
  explicit CodeObject(std::string_view target) : bytes_(hip_image(target).value_or("")) {
    header = at<Elf64_Ehdr>(0);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
      if (section.sh_type == SHT_DYNSYM) read_symbols(section);
      if (section.sh_type == SHT_NOTE) read_notes(section);
      if (section.sh_type == SHT_RELA || section.sh_type == SHT_REL) ++relocations;
    }
  }

  // The 32-bit word at this offset of a kernel's descriptor.
  unsigned descriptor_word(std::string_view kernel, std::uint64_t offset) const {
    const std::uint64_t address = symbols.at(std::string(kernel) + ".kd").st_value + offset;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      const auto part = at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
      if (part.p_type == PT_LOAD && address - part.p_vaddr < part.p_filesz)
        return at<unsigned>(part.p_offset + (address - part.p_vaddr));
    }
    return 0;
  }

  Elf64_Ehdr header;
  std::map<std::string, Elf64_Sym> symbols;
  Json metadata;
  unsigned relocations = 0;

 private:
  template <class T>
  T at(std::uint64_t offset) const {
    T value{};
    if (offset + sizeof value <= bytes_.size())
      std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  void read_symbols(const Elf64_Shdr& section) {
    const auto names =
        at<Elf64_Shdr>(header.e_shoff + section.sh_link * sizeof(Elf64_Shdr)).sh_offset;
    for (std::uint64_t i = 1; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = at<Elf64_Sym>(section.sh_offset + i * sizeof(Elf64_Sym));
      symbols[bytes_.data() + names + symbol.st_name] = symbol;
    }
  }
  void read_notes(const Elf64_Shdr& section) {
    const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
    for (std::uint64_t place = section.sh_offset; place < section.sh_offset + section.sh_size;) {
      const auto note = at<Elf64_Nhdr>(place);
      const std::uint64_t name = place + sizeof note, words = name + padded(note.n_namesz);
      if (note.n_type == kMetadataNote && bytes_.substr(name, 6) == "AMDGPU")
        metadata = Json::from_msgpack(bytes_.substr(words, note.n_descsz), true, false);
      place = words + padded(note.n_descsz);
    }
  }
  std::string bytes_;
};

TEST(HipCodeObjects, AreThoseOfTheTargetsThatTheDocsName) {
  std::set<std::string_view> embedded;
  for (const std::string_view target : hip_targets()) embedded.insert(target);
  std::set<std::string_view> expected;
  for (const auto& [target, what] : kTargets) expected.insert(target);
  EXPECT_EQ(embedded, expected);
}

TEST(HipCodeObjects, AreForTheirTargetWhateverItsFeatures) {
  for (const std::string_view target : hip_targets()) {
    const CodeObject object(target);
    const auto& ident = object.header.e_ident;
    ASSERT_EQ(std::memcmp(ident, ELFMAG, SELFMAG), 0) << target;
    EXPECT_EQ(ident[EI_OSABI], kOsAbiAmdHsa) << target;
    EXPECT_EQ(ident[EI_ABIVERSION], kCodeObjectV4) << target;
    EXPECT_EQ(object.header.e_machine, kMachineAmdgpu) << target;
    EXPECT_EQ(object.header.e_type, ET_DYN) << target;
    const unsigned flags = object.header.e_flags;
    EXPECT_EQ(flags & kMachMask, kTargets.at(target).mach) << target;
    EXPECT_TRUE((flags & kXnackMask) == 0 || (flags & kXnackMask) == kXnackAny) << target;
    EXPECT_TRUE((flags & kSrameccMask) == 0 || (flags & kSrameccMask) == kSrameccAny) << target;
    EXPECT_EQ(object.metadata["amdhsa.target"], "amdgcn-amd-amdhsa--" + std::string(target));
  }
}

TEST(HipCodeObjects, HoldEveryKernelAndNeedNothingElse) {
  for (const std::string_view target : hip_targets()) {
    const CodeObject object(target);
    for (const auto& [name, expected] : kKernels) {
      EXPECT_TRUE(object.symbols.contains(std::string(name))) << target << " " << name;
      const auto descriptor = object.symbols.find(std::string(name) + ".kd");
      ASSERT_NE(descriptor, object.symbols.end()) << target << " " << name;
      EXPECT_EQ(descriptor->second.st_size, 64u) << target << " " << name;
    }
    for (const auto& [name, symbol] : object.symbols)
      EXPECT_NE(symbol.st_shndx, SHN_UNDEF) << target << " lacks " << name;
    EXPECT_EQ(object.relocations, 0u) << target;
  }
}

// Scratch memory would have to be there on the GPU, much shared memory would cut the resident
// blocks, and more arguments than ours would be hidden ones that the runtime must know how to fill.
TEST(HipCodeObjects, TakeOneStructAndUseNoScratchAndHardlyAnySharedMemory) {
  for (const std::string_view target : hip_targets()) {
    const CodeObject object(target);
    for (const Json& kernel : object.metadata["amdhsa.kernels"]) {
      const auto name = kernel[".name"].get<std::string>();
      const std::string where = std::string(target) + " " + name;
      EXPECT_EQ(kernel[".symbol"], name + ".kd") << where;
      EXPECT_EQ(kernel[".wavefront_size"], kTargets.at(target).wave) << where;
      EXPECT_EQ(kernel[".private_segment_fixed_size"], 0) << where;
      EXPECT_LE(kernel[".group_segment_fixed_size"], kMostSharedBytes) << where;
      EXPECT_LE(kernel[".kernarg_segment_size"], kMaxKernelParameterBytes) << where;
      ASSERT_EQ(kernel[".args"].size(), 1u) << where;
      EXPECT_EQ(kernel[".args"][0][".value_kind"], "by_value") << where;
      EXPECT_EQ(kernel[".args"][0][".offset"], 0) << where;
      EXPECT_EQ(kernel[".args"][0][".size"], kernel[".kernarg_segment_size"]) << where;
    }
  }
}

TEST(HipCodeObjects, TakeTheStructsThatTheHostPasses) {
  for (const std::string_view target : hip_targets()) {
    const CodeObject object(target);
    std::size_t found = 0;
    for (const Json& kernel : object.metadata["amdhsa.kernels"]) {
      const auto expected = kKernels.find(kernel[".name"].get<std::string>());
      if (expected == kKernels.end()) continue;
      ++found;
      const std::string where = std::string(target) + " " + std::string(expected->first);
      EXPECT_EQ(kernel[".kernarg_segment_size"], expected->second.parameter_bytes) << where;
      EXPECT_EQ(kernel[".max_flat_workgroup_size"], expected->second.threads) << where;
    }
    EXPECT_EQ(found, kKernels.size()) << target;
  }
}

// Vector registers bound how many waves a unit holds at once: with 128 of them, two blocks of 256
// threads fit even where that is fewest (gfx9: 256 registers for each of 64 lanes on each SIMD).
TEST(HipCodeObjects, KeepTheirRegistersFewAndSpillNone) {
  for (const std::string_view target : hip_targets()) {
    const CodeObject object(target);
    for (const Json& kernel : object.metadata["amdhsa.kernels"]) {
      EXPECT_LE(kernel[".vgpr_count"], 128) << target << " " << kernel[".name"];
      EXPECT_EQ(kernel[".vgpr_spill_count"], 0) << target << " " << kernel[".name"];
      const auto expected = kKernels.find(kernel[".name"].get<std::string>());
      ASSERT_NE(expected, kKernels.end()) << target << " " << kernel[".name"];
      EXPECT_LE(kernel[".sgpr_spill_count"], expected->second.scalar_spills)
          << target << " " << kernel[".name"];
    }
  }
}

// The compute test's golden values are IEEE 754's: all four modes of COMPUTE_PGM_RSRC1.
TEST(HipCodeObjects, RoundToNearestEvenAndKeepSubnormals) {
  constexpr unsigned kRsrc1Offset = 48, kRoundModes = 0xf << 12, kDenormalModes = 0xf << 16;
  for (const std::string_view target : hip_targets()) {
    const unsigned modes = CodeObject(target).descriptor_word(kCompute.name, kRsrc1Offset);
    EXPECT_EQ(modes & kRoundModes, 0u) << target;
    EXPECT_EQ(modes & kDenormalModes, kDenormalModes) << target;
  }
}

TEST(HipCodeObjects, AreFoundByTheirTargetExactly) {
  const auto code = [](std::string_view target) { return hip_image(target).value_or(""); };
  EXPECT_GT(code("gfx90a").size(), 10'000u);
  EXPECT_EQ(code("gfx90a:sramecc+:xnack-"), code("gfx90a"));
  EXPECT_NE(code("gfx908"), code("gfx90a"));
  EXPECT_TRUE(has_hip_image("gfx90a:sramecc+:xnack-"));
  for (const char* unknown : {"gfx90", "gfx90aa", ""}) {
    EXPECT_FALSE(has_hip_image(unknown));
    const auto none = hip_image(unknown);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, ErrorKind::unsupported);
  }
}

}  // namespace
}  // namespace gpuready
