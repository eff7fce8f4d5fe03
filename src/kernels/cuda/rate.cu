// How much an SM does in a clock cycle: fused multiply-adds of single precision, from registers.
#include "kernel_abi/rate_params.h"
#include "kernels/cuda/compute_target.cuh"

namespace {

using namespace gpuready;
using namespace gpuready::device;

GPUREADY_SHARED u64 block_sum;

// As long again as since `begun`, this many times.
GPUREADY_DEVICE void idle(u64 begun, u64 times) {
  const u64 now = clock_ticks(), wait = (now - begun) * times;
  while (clock_ticks() - now < wait) {
  }
}

}  // namespace

GPUREADY_KERNEL(kRateThreads, 1) void gpuready_rate(RateParams p) {
  auto* record = reinterpret_cast<RateRecord*>(p.records_address) + block_index();
  const u32 thread = thread_index(), unit = unit_id();
  float sums[kRateChains];
#pragma unroll
  for (u32 k = 0; k < kRateChains; ++k) sums[k] = static_cast<float>(thread * kRateChains + k);
  if (thread == 0) block_sum = 0;
  block_barrier();
  const u64 start = clock_ticks();
#pragma unroll 1
  for (u64 round = 0; round < p.rounds; ++round) {
    const u64 begun = p.fault_idle == 0 ? 0 : clock_ticks();
#pragma unroll
    for (u32 i = 0; i < kRateSteps; ++i)
#pragma unroll
      for (u32 k = 0; k < kRateChains; ++k) sums[k] = __builtin_fmaf(sums[k], p.factor, p.step);
    if (p.fault_idle != 0) {
      block_barrier();  // together: while one warp idles alone, the others have its share
      idle(begun, p.fault_idle);
      block_barrier();  // what others still idle is not a part of the next round
    }
  }
  block_barrier();
  const u64 ticks = clock_ticks() - start;
  u64 sum = 0;
#pragma unroll
  for (u32 k = 0; k < kRateChains; ++k) sum += static_cast<u64>(sums[k]);
  sum = warp_sum(sum);
  if (thread % warp_threads() == 0) atomic_add(&block_sum, sum);
  block_barrier();
  if (thread != 0) return;
  record->ticks = ticks;
  record->sum = block_sum;
  record->unit_at_start = unit;
  record->unit_at_end = unit_id();
  device_fence();
  record->nonce = p.nonce;
}
