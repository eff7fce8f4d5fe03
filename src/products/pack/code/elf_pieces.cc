#include "pack/code/elf_pieces.h"

#include <algorithm>

#include "base/elf.h"

namespace gpuready::pack {
namespace {

constexpr std::uint64_t kStart = 32u << 20;
constexpr std::uint64_t kMostSegment = 8u << 20;     // of names that were moved to the end
constexpr std::uint64_t kMostKept = 48u << 20;       // besides the start
constexpr std::uint64_t kBeforeSections = 4u << 20;  // where their names stand

}  // namespace

void ElfPieces::keep(Piece& piece, Bytes bytes) const {
  const std::uint64_t next = piece.offset + piece.bytes.size();
  if (next < position_) return;  // what went by before it was wanted
  const Bytes part = slice(bytes, next - position_, piece.size - piece.bytes.size());
  piece.bytes.insert(piece.bytes.end(), part.begin(), part.end());
}

void ElfPieces::plan() {
  planned_ = true;
  const Bytes start = pieces_.front().bytes;
  const auto header = read_elf_header(start);
  if (!header) return;
  std::uint64_t left = kMostKept;
  const auto want = [&](std::uint64_t offset, std::uint64_t size) {
    if (offset + size <= kStart || size == 0 || size > left) return;
    left -= size;
    Piece piece{.offset = offset, .size = size};
    // What of it is in the start went by already.
    const Bytes there = slice(start, offset, size);
    piece.bytes.assign(there.begin(), there.end());
    pieces_.push_back(std::move(piece));
  };
  const auto table = header->e_shnum * sizeof(Elf64_Shdr);
  const auto before = std::min(header->e_shoff, kBeforeSections);
  want(header->e_shoff - before, before + table);
  for (const Elf64_Phdr& segment : read_elf_segments(*header, pieces_of(start)))
    if (segment.p_type >= PT_LOAD && segment.p_type <= PT_INTERP &&
        segment.p_filesz <= kMostSegment && segment.p_offset <= UINT64_MAX / 2)
      want(segment.p_offset, segment.p_filesz);
}

void ElfPieces::add(Bytes bytes) {
  if (!elf_) return;
  if (pieces_.empty()) pieces_.push_back({.offset = 0, .size = kStart});
  while (!bytes.empty()) {
    // Not beyond the start before it is known what else is wanted.
    const Bytes now = planned_ ? bytes : slice(bytes, 0, kStart - position_);
    for (Piece& piece : pieces_) keep(piece, now);
    position_ += now.size();
    bytes = bytes.subspan(now.size());
    if (!planned_ && position_ == kStart) plan();
  }
  if (position_ >= SELFMAG && !is_elf(pieces_.front().bytes)) {
    elf_ = false;
    pieces_.clear();
  }
}

Bytes ElfPieces::at(std::uint64_t offset, std::uint64_t size) const {
  Bytes best;
  for (const Piece& piece : pieces_)
    if (offset >= piece.offset)
      if (const Bytes part = slice(piece.bytes, offset - piece.offset, size);
          part.size() > best.size())
        best = part;
  return best;
}

}  // namespace gpuready::pack
