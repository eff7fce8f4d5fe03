#include "kernels/rate_kernel.h"

GPUREADY_EMBEDDED(gpuready_ptx_rate_sm_50)

namespace gpuready {
namespace {

const KernelImage kImages[] = {
    {gpuready_ptx_rate_sm_50_begin, gpuready_ptx_rate_sm_50_end, 50, false}};

}  // namespace

const Kernel kRate{"gpuready_rate", kImages};

}  // namespace gpuready
