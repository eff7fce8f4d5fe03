// The embedded code objects for AMD's GPUs, one a target, each with every kernel of hip_kernels.cu.
#pragma once

#include <span>
#include <string_view>

namespace gpuready {

struct HipImage {
  std::string_view target;     // "gfx90a"
  const unsigned char* begin;  // an ELF file, code object version 4
  const unsigned char* end;
};

std::span<const HipImage> hip_images();
// The one for this target, exactly; nullptr when there is none. What follows a colon (the features
// of "gfx90a:sramecc+:xnack-") does not matter: the code serves whether they are on or off.
const HipImage* find_hip_image(std::string_view target);

}  // namespace gpuready
