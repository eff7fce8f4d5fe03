#include "kernels/bench_kernels.h"

GPUREADY_EMBEDDED(gpuready_ptx_bench_sm_50)
GPUREADY_EMBEDDED(gpuready_spirv_bench_gemm)
GPUREADY_EMBEDDED(gpuready_spirv_bench_mean)
GPUREADY_EMBEDDED(gpuready_spirv_bench_attention)

namespace gpuready {
namespace {

const KernelImage kImages[] = {
    {gpuready_ptx_bench_sm_50_begin, gpuready_ptx_bench_sm_50_end, 50, false}};

}  // namespace

const Kernel kBenchGemm{"gpuready_bench_gemm", kImages, nullptr,
                        GPUREADY_SPIRV(gpuready_spirv_bench_gemm)};
const Kernel kBenchGelu{"gpuready_bench_gelu", kImages};
const Kernel kBenchMean{"gpuready_bench_mean", kImages, nullptr,
                        GPUREADY_SPIRV(gpuready_spirv_bench_mean)};
const Kernel kBenchAttention{"gpuready_bench_attention", kImages, nullptr,
                             GPUREADY_SPIRV(gpuready_spirv_bench_attention)};

}  // namespace gpuready
