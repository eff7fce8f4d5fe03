// What a library or program needs of the system, from its dynamic section.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "pack/code/census.h"
#include "pack/code/elf.h"

namespace gpuready::pack {

struct ElfFacts {
  std::string machine;  // "x86_64", "aarch64", or its number
  std::string type;     // "shared", "executable", "relocatable", "other"
  std::string soname, interpreter;
  std::vector<std::string> needed;    // DT_NEEDED, in its order
  std::vector<std::string> run_path;  // DT_RUNPATH, split; DT_RPATH where there is none
  bool rpath = false;                 // it was DT_RPATH
  // The newest symbol version of each that it wants: {"GLIBC", 2.34}, {"GLIBCXX", 3.4.30}.
  std::vector<std::pair<std::string, Version>> symbol_versions;
  std::vector<Section> sections;  // those that have bytes
  std::uint64_t end = 0;          // where its tables and what is loaded of it end
  std::string problem;            // why a part of this is missing

  std::optional<Version> glibc() const;
};

// Gives [offset, offset + size) of the file, or nothing where that is not there (any more).
using Pieces = std::function<Bytes(std::uint64_t offset, std::uint64_t size)>;

// Nothing where the file is no 64-bit little-endian ELF file, or one of device code.
std::optional<ElfFacts> read_elf_facts(const Pieces& pieces);

}  // namespace gpuready::pack
