// Which GPUs and MIG instances the CUDA driver shows to this process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/cuda_driver.h"

namespace gpuready {

struct CudaDeviceIdentity {
  CudaDeviceNumber number = 0;
  std::string uuid;  // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
};
Result<std::vector<CudaDeviceIdentity>> list_cuda_identities(const CudaDriver& driver);

// Whether two UUIDs name the same device: prefix and letter case aside. The old form of a MIG
// instance's name, "MIG-GPU-<uuid>/<gi>/<ci>", is compared by the GPU's UUID.
bool same_cuda_uuid(std::string_view a, std::string_view b);

}  // namespace gpuready
