// Results reset by the device, and sealed with a checksum before they are copied: one block, since
// records are small.
#include "kernel_abi/record_params.h"
#include "kernels/cuda/target.cuh"

using namespace gpuready;
using namespace gpuready::device;

GPUREADY_KERNEL(256, 1) void gpuready_record(RecordParams p) {
  static GPUREADY_SHARED u64 sums[256 / 32];  // a warp has at least 32 threads
  auto* words = reinterpret_cast<u64*>(p.address);
  auto* seal = reinterpret_cast<RecordSeal*>(p.seal_address);
  const u32 thread = thread_index(), threads = block_threads();
  if (p.work == kRecordReset) {
    for (u64 i = thread; i < p.words; i += threads) words[i] = i == p.ones_word ? ~u64{0} : 0;
    device_fence();
    block_barrier();
    if (thread == 0) seal->reset_nonce = p.nonce;
    return;
  }
  u64 sum = 0;
#pragma unroll 8
  for (u64 i = thread; i < p.words; i += threads) sum += record_fold(words[i], i);
  sum = warp_sum(sum);
  if (thread % warp_threads() == 0) sums[thread / warp_threads()] = sum;
  block_barrier();
  if (thread != 0) return;
  u64 all = 0;
  for (u32 warp = 0; warp < threads / warp_threads(); ++warp) all += sums[warp];
  seal->words = p.words;
  seal->checksum = all;
  device_fence();
  seal->seal_nonce = p.nonce;
}
