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
    for (unsigned long long j = 0; j < p.n; ++j) c[row * p.n + j] = 0;
    for (unsigned long long k = 0; k < p.n; ++k) {
      const float factor = a[row * p.n + k];
      for (unsigned long long j = 0; j < p.n; ++j) c[row * p.n + j] += factor * b[k * p.n + j];
    }
  }
}

}  // namespace

const Kernel kMatmulF32{"gpuready_matmul_f32", kImages, cpu_matmul};

}  // namespace gpuready
