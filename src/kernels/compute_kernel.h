// The compute test's kernel, for every executor. Its parameters are in compute_params.h.
#pragma once

#include "device/kernel.h"
#include "kernel_abi/compute_params.h"

namespace gpuready {

extern const Kernel kCompute;  // ComputeParams; kComputeThreads threads a block

// Whether the kernel has this operation: on a GPU of that compute capability, or (no value) on the
// CPU, where "unit" means thread and there are no warps and no registers to hold.
bool compute_op_is_there(unsigned op, bool cpu, int compute_capability);
// Vulkan defines fewer results to the last bit, and leaves units, warps and time out.
bool compute_op_is_there_in_vulkan(unsigned op);
inline constexpr unsigned kComputeVulkanThreads = 256, kComputeVulkanSharedWords = 2048;

}  // namespace gpuready
