// What `pack inspect` knows of one file, and of all files of a folder.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pack/code/census.h"
#include "pack/code/elf_facts.h"

namespace gpuready::pack {

struct FileReport {
  std::string path;  // relative to the folder or archive that was named
  std::uint64_t bytes = 0;
  std::optional<ElfFacts> elf;  // of libraries and programs
  std::vector<CarrierGroup> groups;
  std::uint64_t code_bytes = 0;
  std::vector<std::string> problems;

  bool has_code() const { return !groups.empty(); }
};

// One file of bytes that are in memory, or mapped (`mapped`: pages that were read are given back).
FileReport inspect_bytes(std::string path, Bytes bytes, bool mapped = false);

}  // namespace gpuready::pack
