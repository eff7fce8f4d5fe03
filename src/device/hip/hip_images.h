// The embedded code objects for AMD's GPUs, one a target, each with every kernel of hip_kernels.cu.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuready {

// What code is embedded for: "gfx90a".
std::span<const std::string_view> hip_targets();

// What follows a colon (the features of "gfx90a:sramecc+:xnack-") does not matter: the code serves
// whether they are on or off.
bool has_hip_image(std::string_view target);

// The ELF file for exactly this target, code object version 4. All are unpacked for it: 1.2 MB.
Result<std::string> hip_image(std::string_view target);

}  // namespace gpuready
