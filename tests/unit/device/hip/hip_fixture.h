// The HIP executor against the fake runtime, in a child.
#pragma once

#include "unit/device/in_child.h"

namespace gpuready {

inline constexpr const char* kFakeHipGpu0 = "0000:03:00.0/gfx90a";
inline constexpr const char* kFakeHipGpu1 = "0000:04:00.0/gfx90a";

inline std::string in_hip_child(const std::string& fake_hip,
                                const std::function<std::string()>& work,
                                const std::string& library = "fake_hip") {
  return in_child_with({{"FAKE_HIP", fake_hip}, {"GPUREADY_HIP_LIBRARY", fake_cuda_path(library)}},
                       work);
}

}  // namespace gpuready
