// The CUDA releases: the PTX that each brought, and its first driver. Sources: NVIDIA, "CUDA
// Toolkit Release Notes", tables of driver versions (Linux); "PTX ISA", release history.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/text.h"

namespace gpuready {

struct CudaRelease {
  std::string_view cuda, ptx_isa;
  std::string_view driver;  // the first that is of this release; empty: not known
};
std::span<const CudaRelease> cuda_releases();  // oldest first

// The newest PTX that a driver of this CUDA version compiles.
std::optional<Version> ptx_isa_of_cuda(const Version& cuda);
// The first release that compiles this PTX; nothing for one that is newer than the table.
const CudaRelease* release_of_ptx(const Version& isa);

}  // namespace gpuready
