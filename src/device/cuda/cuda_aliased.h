// One physical memory at two addresses, by CUDA's virtual memory management.
#pragma once

#include <cstddef>

#include "device/cuda/cuda_driver.h"

namespace gpuready {

// A range both of whose halves map `allocation`.
struct CudaAliased {
  CudaPointer address = 0;
  std::size_t half_bytes = 0;
  CudaAllocation allocation = 0;
  unsigned halves_mapped = 0;
};

// Of at least `bytes`, on the device whose context is current. Leaves nothing behind where it
// fails.
Result<void> map_aliased(const CudaDriver& driver, CudaDeviceNumber device, std::uint64_t bytes,
                         CudaAliased& aliased);
Result<void> release_aliased(const CudaDriver& driver, const CudaAliased& aliased);

}  // namespace gpuready
