// A plain tiled FP32 product. It is a yardstick of "does this GPU compute at all, and soon", no
// rival to a tuned library: each block of 256 threads makes a 64 x 64 tile of C, 4 x 4 a thread.
#include "kernel_abi/matmul_params.h"

#define GPUREADY_KERNEL(threads) extern "C" __attribute__((global, launch_bounds(threads)))

namespace {
constexpr unsigned kTile = 64, kDepth = 16, kPerThread = 4;
typedef __attribute__((address_space(1))) float GlobalFloat;
__attribute__((
    shared)) float a_tile[kDepth][kTile + 1];  // transposed; padded against bank conflicts
__attribute__((shared)) float b_tile[kDepth][kTile];
}  // namespace

GPUREADY_KERNEL(256) void gpuready_matmul_f32(gpuready::MatmulParams p) {
  const unsigned thread = __nvvm_read_ptx_sreg_tid_x();
  const unsigned tiles = static_cast<unsigned>(p.n / kTile);
  const unsigned block = __nvvm_read_ptx_sreg_ctaid_x();
  const unsigned long long row0 = static_cast<unsigned long long>(block / tiles) * kTile;
  const unsigned long long column0 = static_cast<unsigned long long>(block % tiles) * kTile;
  const auto* a = reinterpret_cast<const GlobalFloat*>(p.a_address);
  const auto* b = reinterpret_cast<const GlobalFloat*>(p.b_address);
  const unsigned my_row = thread / 16 * kPerThread, my_column = thread % 16 * kPerThread;

  float sum[kPerThread][kPerThread] = {};
  for (unsigned long long k0 = 0; k0 < p.n; k0 += kDepth) {
    for (unsigned i = thread; i < kTile * kDepth; i += 256) {
      a_tile[i % kDepth][i / kDepth] = a[(row0 + i / kDepth) * p.n + k0 + i % kDepth];
      b_tile[i / kTile][i % kTile] = b[(k0 + i / kTile) * p.n + column0 + i % kTile];
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < kDepth; ++k)
#pragma unroll
      for (unsigned r = 0; r < kPerThread; ++r)
#pragma unroll
        for (unsigned c = 0; c < kPerThread; ++c)
          sum[r][c] += a_tile[k][my_row + r] * b_tile[k][my_column + c];
    __syncthreads();
  }
  auto* out = reinterpret_cast<GlobalFloat*>(p.c_address);
  for (unsigned r = 0; r < kPerThread; ++r)
    for (unsigned c = 0; c < kPerThread; ++c)
      out[(row0 + my_row + r) * p.n + column0 + my_column + c] = sum[r][c];
}
