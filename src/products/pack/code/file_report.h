// What `pack inspect` knows of one file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/elf.h"
#include "base/result.h"
#include "pack/code/census.h"
#include "pack/code/elf_pieces.h"

namespace gpuready::pack {

// What a library or program needs of the system.
struct ElfFacts {
  std::string machine = {};  // "x86_64", "aarch64", or its number
  std::string type = {};     // "shared", "executable", "relocatable", "other"
  std::string soname = {}, interpreter = {};
  std::vector<std::string> needed = {};    // in its order
  std::vector<std::string> run_path = {};  // DT_RUNPATH, split; DT_RPATH if that is missing
  bool rpath = false;                      // it was DT_RPATH
  std::map<std::string, Version> symbol_versions = {};  // {"GLIBC", 2.34}: the newest it wants
  std::string problem = {};                             // why a part of this is missing

  std::optional<Version> glibc() const;
};

struct FileReport {
  std::string path = {};  // relative to the folder or archive that was named
  std::uint64_t bytes = 0;
  std::optional<ElfFacts> elf = {};  // of libraries and programs
  // Of files that Linux does not load as libraries, what they are: "Windows library or program
  // (PE)".
  std::string foreign = {};
  std::vector<CarrierGroup> groups = {};
  std::uint64_t code_bytes = 0;
  std::vector<std::string> problems = {};

  bool has_code() const { return !groups.empty(); }
};

// One file of bytes that are in memory, or mapped (`mapped`: pages that were read are given back).
FileReport inspect_bytes(std::string path, Bytes bytes, bool mapped = false);
// The same of bytes that go by once; `pieces` is handed all that the source reads.
FileReport inspect_source(std::string path, Source& source, const ElfPieces& pieces);

// What a file is that Linux does not load, by its first bytes; empty for all others.
std::string foreign_format(Bytes head);

}  // namespace gpuready::pack
