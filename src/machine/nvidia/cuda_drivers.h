// Which driver programs of a CUDA release need.
// Source: NVIDIA, "CUDA Compatibility", table of minor version compatibility.
#pragma once

#include <optional>
#include <string_view>

namespace gpuready {

// From this major version on, programs run on any driver that is enough for its first release.
inline constexpr int kFirstCudaWithMinorCompatibility = 11;

// "525.60.13" of CUDA 12: the least driver that runs what was built with any 12.x. Nothing for a
// major version that is not known, or that has no such compatibility.
std::optional<std::string_view> least_driver_of_cuda(int major);

}  // namespace gpuready
