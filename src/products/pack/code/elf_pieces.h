// What read_elf() wants of a file whose bytes go by once: its start, and what the tables at
// its start say of the rest. Linkers put names near the start, tools that edit them afterwards
// (patchelf) into a small segment at the end, and the table of sections is the end.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace gpuready::pack {

class ElfPieces {
 public:
  void add(Bytes bytes);  // those that follow the ones before
  // As much of [offset, offset + size) as was kept.
  Bytes at(std::uint64_t offset, std::uint64_t size) const;

 private:
  struct Piece {
    std::uint64_t offset = 0, size = 0;    // wanted
    std::vector<std::uint8_t> bytes = {};  // of it, so far
  };
  void keep(Piece& piece, Bytes bytes) const;
  void plan();  // from the start, once that is there whole
  std::vector<Piece> pieces_ = {};
  std::uint64_t position_ = 0;
  bool elf_ = true;  // until the first bytes say otherwise
  bool planned_ = false;
};

}  // namespace gpuready::pack
