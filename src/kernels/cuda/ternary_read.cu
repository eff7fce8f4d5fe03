// A yardstick for benchmarks: reads memory as fast as loads can be asked for.
#include "kernels/cuda/ternary_device.cuh"

namespace gpuready::device {

struct TernaryReadParams {
  u64 address, bytes, out_address;
};

GPUREADY_KERNEL(256, 4) void gpuready_ternary_read(TernaryReadParams p) {
  const u64 stride = static_cast<u64>(block_count()) * 256 * 16 * 8;
  u32 sum = 0;
  for (u64 at = (static_cast<u64>(block_index()) * 256 * 8 + thread_index()) * 16; at < p.bytes;
       at += stride) {
    Words4 w[8];
#pragma unroll
    for (u32 i = 0; i < 8; ++i)
      w[i] = load_weights(reinterpret_cast<const char*>(p.address + at + i * 256 * 16));
#pragma unroll
    for (u32 i = 0; i < 8; ++i) sum ^= w[i].x ^ w[i].y ^ w[i].z ^ w[i].w;
  }
  if (sum == 0x12345678u) reinterpret_cast<u32*>(p.out_address)[0] = sum;
}

}  // namespace gpuready::device
