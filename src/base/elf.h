// ELF files of 64 bits and little endian (System V ABI, "Object Files"): sections, and what the
// dynamic loader reads. No I/O, and any bytes are accepted; all views are of the bytes given.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuready {

inline constexpr std::uint16_t kElfMachineX86_64 = 62, kElfMachineAarch64 = 183;

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;
  std::span<const std::uint8_t> bytes;  // empty for what has none in the file (SHT_NOBITS)
};

struct ElfFile {
  std::uint16_t type = 0;     // 1 relocatable (kernel modules), 2 program, 3 shared object
  std::uint16_t machine = 0;  // e_machine
  std::vector<ElfSection> sections;
  std::string_view interpreter;          // PT_INTERP
  std::string_view soname;               // DT_SONAME
  std::vector<std::string_view> needed;  // DT_NEEDED, in the loader's order
  std::string_view run_path;             // DT_RUNPATH, else DT_RPATH

  const ElfSection* section(std::string_view name) const;  // the first of this name
};

// Error (bad_input) for what is not such a file, or leads out of it. `name` is how errors call it.
Result<ElfFile> parse_elf(std::span<const std::uint8_t> bytes, std::string_view name);

// Whether the bytes begin as those of any ELF file do, of 32 bits or big endian too.
bool is_elf(std::span<const std::uint8_t> bytes);

}  // namespace gpuready
