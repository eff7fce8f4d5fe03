// ELF files of 64 bits and little endian (System V ABI, "Object Files"): headers, sections,
// segments, and what the dynamic loader reads. No I/O, and any bytes are accepted: offsets and
// sizes are what the file claims.
#pragma once

#include <elf.h>

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/text.h"

namespace gpuready {

inline constexpr std::uint16_t kElfMachineX86_64 = 62, kElfMachineAarch64 = 183,
                               kElfMachineCuda = 190, kElfMachineAmdGpu = 224;
inline constexpr std::size_t kElfHeaderBytes = sizeof(Elf64_Ehdr);

// Whether the bytes begin as those of any ELF file do, of 32 bits or big endian too.
bool is_elf(Bytes bytes);

// Nothing if these bytes do not begin such a file, or if its tables have an odd entry size or are
// beyond what an offset can say.
std::optional<Elf64_Ehdr> read_elf_header(Bytes bytes);

// Where the tables of sections and segments end, which in all files seen is where the file ends
// or close before it.
std::uint64_t tables_end(const Elf64_Ehdr& header);

// As much of [offset, offset + size) of the file as is available.
using Pieces = std::function<Bytes(std::uint64_t offset, std::uint64_t size)>;
Pieces pieces_of(Bytes bytes);  // of a file that is there from its start

struct ElfSection {
  std::string_view name;  // empty if the names are missing
  Elf64_Shdr header;
  Bytes bytes;  // as many as are available
  bool has_bytes() const { return header.sh_type != SHT_NULL && header.sh_type != SHT_NOBITS; }
};
// Sections whose headers are missing are left out.
std::vector<ElfSection> read_elf_sections(const Elf64_Ehdr& header, const Pieces& pieces);
std::vector<Elf64_Phdr> read_elf_segments(const Elf64_Ehdr& header, const Pieces& pieces);

// The size of the file that begins here: the end of the last of its tables, sections and segments.
// Nothing if its table of sections is missing.
std::optional<std::uint64_t> elf_file_size(const Elf64_Ehdr& header, Bytes bytes);

struct ElfFile {
  std::uint16_t type = 0;     // ET_REL (kernel modules), ET_EXEC, ET_DYN
  std::uint16_t machine = 0;  // e_machine
  std::vector<ElfSection> sections;
  std::string_view interpreter;          // PT_INTERP
  std::string_view soname;               // DT_SONAME
  std::vector<std::string_view> needed;  // DT_NEEDED, in its order
  std::string_view run_path;             // DT_RUNPATH; DT_RPATH if that is missing
  bool rpath = false;                    // it was DT_RPATH
  // The newest symbol version of each that it wants: {"GLIBC", 2.34}, {"GLIBCXX", 3.4.30}.
  std::map<std::string_view, Version> symbol_versions;
  std::uint64_t end = 0;     // where its tables and what is loaded of it end
  std::string_view problem;  // why a part of this is missing

  const ElfSection* section(std::string_view name) const;  // the first of this name
};

// Nothing if the file is not a 64-bit little-endian ELF file.
std::optional<ElfFile> read_elf(const Pieces& pieces);

// Error (bad_input) also for a file that is damaged or cut short. `name` is how errors call it.
Result<ElfFile> parse_elf(Bytes bytes, std::string_view name);

}  // namespace gpuready
