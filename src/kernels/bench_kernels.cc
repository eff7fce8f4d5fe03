#include "kernels/bench_kernels.h"

GPUREADY_EMBEDDED(gpuready_ptx_bench_sm_50)

namespace gpuready {
namespace {

const KernelImage kImages[] = {
    {gpuready_ptx_bench_sm_50_begin, gpuready_ptx_bench_sm_50_end, 50, false}};

}  // namespace

const Kernel kBenchGemm{"gpuready_bench_gemm", kImages};
const Kernel kBenchGelu{"gpuready_bench_gelu", kImages};
const Kernel kBenchMean{"gpuready_bench_mean", kImages};
const Kernel kBenchAttention{"gpuready_bench_attention", kImages};

}  // namespace gpuready
