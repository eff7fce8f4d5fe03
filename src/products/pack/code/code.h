// Pieces of device code as files hold them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/named.h"
#include "base/text.h"
#include "pack/code/target.h"

namespace gpuready::pack {

enum class CodeKind {
  cubin,            // machine code of one of NVIDIA's architectures
  ptx,              // text that the driver compiles
  lto_ir,           // input of NVIDIA's linker, which the driver alone does not run
  tile_ir,          // CUDA tile programs
  relocatable_ptx,  // text that must be linked first
  amd,              // an AMD code object
  other,            // an entry of a fat binary that is known, and is no code: an index
};

enum class Compression { none, lz4, zstd, zlib };

struct DeviceCode {
  CodeKind kind = CodeKind::other;
  std::optional<CudaTarget> cuda = {};  // what it is built for; absent where the file does not tell
  std::optional<GfxTarget> gfx = {};
  std::optional<Version> ptx_isa = {};  // of PTX: "8.7"
  Compression compression = Compression::none;
  bool relocatable = false;     // must be linked before it can be loaded
  bool empty = false;           // a cubin without a kernel: a stub
  bool of_cuda_13 = false;      // machine code that only compilers from CUDA 13 on write
  bool suffix_unknown = false;  // whether its target has a suffix is in bytes that were not read

  auto operator<=>(const DeviceCode&) const = default;
  std::string target() const;  // "sm_90a", "compute_80", "gfx942", or "?"
};

// Code that a driver can load as it is, given the right GPU: no stub, nothing that must be linked.
bool loadable(const DeviceCode& code);

}  // namespace gpuready::pack

namespace gpuready {
NAMES_OF(pack::CodeKind, "cubin", "ptx", "lto_ir", "tile_ir", "relocatable_ptx", "amd", "other");
NAMES_OF(pack::Compression, "none", "lz4", "zstd", "zlib");
}  // namespace gpuready
