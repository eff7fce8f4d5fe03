#include "kernels/memory_kernels.h"

#include "kernels/cpu/memory_cpu.h"

GPUREADY_EMBEDDED(gpuready_ptx_memory_sm_50)
GPUREADY_EMBEDDED(gpuready_spirv_memory_write)
GPUREADY_EMBEDDED(gpuready_spirv_memory_verify)
GPUREADY_EMBEDDED(gpuready_spirv_memory_invert)
GPUREADY_EMBEDDED(gpuready_spirv_memory_copy)

namespace gpuready {

namespace {

const KernelImage kImages[] = {
    {gpuready_ptx_memory_sm_50_begin, gpuready_ptx_memory_sm_50_end, 50, false}};

}  // namespace

const Kernel kMemoryWrite{"gpuready_memory_write", kImages, cpu_memory_write,
                          GPUREADY_SPIRV(gpuready_spirv_memory_write)};
const Kernel kMemoryVerify{"gpuready_memory_verify", kImages, cpu_memory_verify,
                           GPUREADY_SPIRV(gpuready_spirv_memory_verify)};
const Kernel kMemoryCopy{"gpuready_memory_copy", kImages, cpu_memory_copy,
                         GPUREADY_SPIRV(gpuready_spirv_memory_copy)};
const Kernel kMemoryInvert{"gpuready_memory_invert", kImages, cpu_memory_invert,
                           GPUREADY_SPIRV(gpuready_spirv_memory_invert)};
// Not in Vulkan, which has no clock to show that reads go to memory.
const Kernel kMemoryHammer{"gpuready_memory_hammer", kImages, cpu_memory_hammer};

}  // namespace gpuready
