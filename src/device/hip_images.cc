#include "device/hip_images.h"

#include "device/kernel.h"

// hip_targets.inc is a line GPUREADY_HIP_TARGET(gfx...) for each target of kernels.cmake.
#define GPUREADY_HIP_TARGET(target) GPUREADY_EMBEDDED(gpuready_hip_##target)
#include "hip_targets.inc"
#undef GPUREADY_HIP_TARGET

namespace gpuready {
namespace {

#define GPUREADY_HIP_TARGET(target) \
  {#target, gpuready_hip_##target##_begin, gpuready_hip_##target##_end},
constexpr HipImage kImages[] = {
#include "hip_targets.inc"
};
#undef GPUREADY_HIP_TARGET

}  // namespace

std::span<const HipImage> hip_images() { return kImages; }

const HipImage* find_hip_image(std::string_view target) {
  target = target.substr(0, target.find(':'));
  for (const HipImage& image : kImages)
    if (image.target == target) return &image;
  return nullptr;
}

}  // namespace gpuready
