#include "pack/code/code.h"

#include <array>

namespace gpuready::pack {

std::string_view to_string(CodeKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"cubin",           "ptx", "lto_ir", "tile_ir",
                                                      "relocatable_ptx", "amd", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Compression compression) {
  constexpr std::array<std::string_view, 4> kNames = {"none", "lz4", "zstd", "zlib"};
  return kNames[static_cast<std::size_t>(compression)];
}

std::string DeviceCode::target() const {
  if (gfx) return gfx->name();
  if (!cuda) return "?";
  switch (kind) {
    case CodeKind::ptx:
    case CodeKind::relocatable_ptx:
      return "compute_" + cuda->number();
    case CodeKind::lto_ir:
      return "lto_" + cuda->number();
    default:
      return cuda->sm();
  }
}

bool loadable(const DeviceCode& code) {
  if (code.relocatable || code.empty) return false;
  return code.kind == CodeKind::cubin || code.kind == CodeKind::ptx || code.kind == CodeKind::amd;
}

}  // namespace gpuready::pack
