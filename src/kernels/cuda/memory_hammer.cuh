// Repeated reading of the same places. They are more than the caches hold, so that each read goes
// to memory; whether it does is shown by how long reads take (docs/memory-test.md).
#pragma once

#include "kernel_abi/memory_params.h"
#include "kernels/cuda/target.cuh"

namespace gpuready::device {

GPUREADY_DEVICE u64 read_line(const MemoryHammerParams& p, u64 line) {
  using Word = const volatile GPUREADY_GLOBAL_MEMORY u64;
  return *reinterpret_cast<Word*>(p.base_address + line * p.stride_bytes);
}

GPUREADY_DEVICE void hammer_memory(const MemoryHammerParams& p) {
  auto* results = reinterpret_cast<MemoryHammerResults*>(p.results_address);
  u64 seen = 0, reads = 0;
  if (p.timed != 0) {
    if (block_index() != 0 || thread_index() != 0) return;
    u64 ticks = 0;
    for (u64 round = 0; round <= p.rounds; ++round) {
      for (u64 line = 0; line < p.lines; ++line) {
        const u64 start = clock_ticks();
        // The next address and the clock wait for the word: reads do not overlap.
        const u64 word = read_line(p, line + (seen & 0));
        seen ^= word;
        const u64 stop = clock_ticks_after(seen);
        ++reads;
        if (round == p.rounds) ticks += stop - start;
      }
    }
    atomic_add(&results->ticks, ticks);
  } else {
    const u64 thread = u64{block_index()} * block_threads() + thread_index();
    const u64 threads = u64{block_count()} * block_threads();
    for (u64 round = 0; round < p.rounds; ++round) {
      for (u64 line = thread; line < p.lines; line += threads) {
        seen ^= read_line(p, line);
        ++reads;
      }
    }
  }
  atomic_add(&results->reads, reads);
  atomic_xor(&results->word_xor, seen);
}

}  // namespace gpuready::device
