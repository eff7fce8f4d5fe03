// All device code of one file, found by reading every byte once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/elf.h"
#include "pack/code/carrier.h"

namespace gpuready::pack {

// Carriers of one kind, in one section, with the same code: of the thousands in a library most are
// alike.
struct CarrierGroup {
  Carrier carrier = Carrier::fat_binary;
  std::string section = {};            // ".nv_fatbin"; empty where the file has no sections
  std::vector<DeviceCode> codes = {};  // each once, sorted
  std::uint64_t count = 0, bytes = 0, first_offset = 0;
  std::vector<std::uint64_t> offsets = {};  // of each, as found
};

struct Census {
  std::vector<CarrierGroup> groups;  // by first offset
  std::uint64_t file_bytes = 0;
  std::uint64_t code_bytes = 0;       // in carriers
  std::vector<std::string> problems;  // the first few
};

// A part of a file by name, as ELF files have them.
struct Section {
  std::string name;
  std::uint64_t offset = 0, size = 0;
};
// Those with up to `most` bytes, of an ELF file that begins at `start`.
std::vector<Section> sections_with_bytes(const std::vector<ElfSection>& sections,
                                         std::uint64_t start = 0, std::uint64_t most = UINT64_MAX);

// Reads the source to its end. `sections` is asked for when all was read, since the table of
// sections stands at the end of most files.
Census take_census(Source& source, const std::function<std::vector<Section>()>& sections);

}  // namespace gpuready::pack
