#include "pack/code/code.h"

namespace gpuready::pack {

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
