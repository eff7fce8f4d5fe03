// What device code is in, and the readers of each. A reader is called where the magic of its
// carrier begins, in a file that may hold these bytes by chance: it answers nothing, and has
// skipped nothing, where there is no such thing after all. Otherwise the source stands behind it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/named.h"
#include "pack/code/code.h"
#include "pack/code/source.h"

namespace gpuready::pack {

enum class Carrier {
  fat_binary,  // NVIDIA's container: one module in several builds, of which the driver takes one
  cubin,       // bare ELF files, which a library chooses from by itself
  zstd_cubin,  // the same, each in a frame of zstd
  ptx_text,    // text that a library hands to the driver
  lto_ir,      // input of NVIDIA's linker
  offload_bundle,  // clang's container for AMD, compressed or not: like a fat binary
  amd_code,        // a bare code object
};

struct CarrierFound {
  Carrier carrier = Carrier::fat_binary;
  std::uint64_t offset = 0, bytes = 0;
  std::vector<DeviceCode> codes = {};
  std::string problem = {};  // why only a part of it could be read
};

std::optional<CarrierFound> read_fat_binary(Source& source);
std::optional<CarrierFound> read_bare_elf(Source& source);
std::optional<CarrierFound> read_zstd_frame(Source& source);
std::optional<CarrierFound> read_ptx_text(Source& source);
std::optional<CarrierFound> read_lto_ir(Source& source);
std::optional<CarrierFound> read_offload_bundle(Source& source);
std::optional<CarrierFound> read_compressed_offload(Source& source);

}  // namespace gpuready::pack

namespace gpuready {
NAMES_OF(pack::Carrier, "fat_binary", "cubin", "zstd_cubin", "ptx_text", "lto_ir", "offload_bundle",
         "amd_code");
}  // namespace gpuready
