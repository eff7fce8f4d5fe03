#include "kernels/matmul_kernel.h"

GPUREADY_EMBEDDED(gpuready_ptx_matmul_sm_50)

namespace gpuready {
namespace {

const KernelImage kImages[] = {
    {gpuready_ptx_matmul_sm_50_begin, gpuready_ptx_matmul_sm_50_end, 50, false}};

void cpu_matmul(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const MatmulParams*>(params);
  const auto* a = reinterpret_cast<const float*>(p.a_address);
  const auto* b = reinterpret_cast<const float*>(p.b_address);
  auto* c = reinterpret_cast<float*>(p.c_address);
  for (unsigned long long row = slice.index; row < p.n; row += slice.count) {
    float* const out = c + row * p.n;
    for (unsigned j = 0; j < p.n; ++j) out[j] = 0;
    for (unsigned k = 0; k < p.n; ++k) {
      const float factor = a[row * p.n + k];
      const float* const in = b + k * p.n;
      for (unsigned j = 0; j < p.n; ++j) out[j] += factor * in[j];
    }
  }
}

}  // namespace

const Kernel kMatmulF32{"gpuready_matmul_f32", kImages, cpu_matmul};

}  // namespace gpuready
