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

// From this major version on, programs run on any driver that is enough for its first release.
// NVIDIA, "CUDA Compatibility", minor version compatibility.
inline constexpr int kFirstCudaWithMinorCompatibility = 11;

// The least driver that runs what this release built: "525.60.13" of any 12.x, "440.33" of 10.2.
// Nothing for a major version that is not known.
std::optional<std::string_view> least_driver_of_cuda(const Version& cuda);

}  // namespace gpuready
