// The little of 64-bit little-endian ELF that all readers share: header, sections, segments.
// Offsets and sizes are as the file says them, and are checked by those who use them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pack/code/bytes.h"

namespace gpuready::pack {

inline constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";
inline constexpr std::size_t kElfHeaderBytes = 64;
inline constexpr std::uint16_t kMachineX86_64 = 62, kMachineAarch64 = 183, kMachineCuda = 190,
                               kMachineAmdGpu = 224;

struct ElfHeader {
  std::uint8_t os_abi = 0, abi_version = 0;
  std::uint16_t type = 0;  // 1 relocatable, 2 executable, 3 shared
  std::uint16_t machine = 0;
  std::uint32_t version = 0, flags = 0;
  std::uint64_t section_offset = 0, segment_offset = 0;
  std::uint16_t section_count = 0, section_names = 0, segment_count = 0;

  // Where the tables of sections and segments end, which in all files seen is where the file ends
  // or close before it.
  std::uint64_t tables_end() const;
};
// Nothing where these bytes begin no such file, or one whose tables have an odd entry size or lie
// beyond what an offset can say.
std::optional<ElfHeader> read_elf_header(Bytes bytes);

struct ElfSection {
  std::string_view name;  // empty where the names are not there
  std::uint32_t type = 0;
  std::uint64_t flags = 0, address = 0, offset = 0, size = 0;
  bool has_bytes() const { return type != 0 && type != 8; }  // NULL and NOBITS have none
};
// Of a file that is there from its start; sections whose headers are not there are left out.
std::vector<ElfSection> read_elf_sections(const ElfHeader& header, Bytes bytes);

struct ElfSegment {
  std::uint32_t type = 0;  // 1 LOAD, 2 DYNAMIC
  std::uint64_t offset = 0, address = 0, file_size = 0;
};
std::vector<ElfSegment> read_elf_segments(const ElfHeader& header, Bytes bytes);

// The size of the file that begins here: the end of the last of its tables, sections and segments.
// Nothing where its table of sections is not there.
std::optional<std::uint64_t> elf_file_size(const ElfHeader& header, Bytes bytes);

}  // namespace gpuready::pack
