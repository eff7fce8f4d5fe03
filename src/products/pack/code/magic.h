// Where device code may begin: the search that reads every byte of a file.
#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.h"

namespace gpuready::pack {

enum class Magic {
  fat_binary,          // 0xBA55ED50
  zstd,                // 0xFD2FB528
  elf,                 // "\x7fELF"
  offload_bundle,      // "__CLANG_OFFLOAD_BUNDLE__", of which the first four bytes
  compressed_offload,  // "CCOB"
  ptx,                 // ".version ", of which the first four bytes
  lto_ir,              // 0x7F4E43ED
};
inline constexpr std::size_t kMagicBytes = 4;

struct MagicFound {
  std::size_t offset;
  Magic magic;
};
// The first of them at `from` or later; the four bytes are there whole. Reads 16 bytes a step, some
// GB/s on any processor.
std::optional<MagicFound> find_magic(Bytes bytes, std::size_t from = 0);

}  // namespace gpuready::pack
