// Fault injection in the kernels that write: a table in device memory says which words go wrong and
// how. Every block looks after the words that it writes itself, before and after writing them.
#pragma once

#include "kernels/cuda/memory_device.cuh"

namespace gpuready::device {

template <class Tiles, class Work>
GPUREADY_DEVICE void for_each_own_fault(const MemoryPassParams& p, Work work) {
  const Tiles tiles(p);
  auto* faults = reinterpret_cast<MemoryFaultEntry*>(p.faults_address);
  for (u64 i = thread_index(); i < p.fault_count; i += block_threads()) {
    const u64 word = faults[i].word - p.first_index;
    if (word < p.words && tiles.owns(word / 2)) {
      work(faults[i], reinterpret_cast<GlobalWord*>(p.base_address + word * 8));
    }
  }
}

template <class Tiles>
GPUREADY_DEVICE void before_write(const MemoryPassParams& p) {
  if (p.fault_count == 0) return;
  for_each_own_fault<Tiles>(p, [](MemoryFaultEntry& fault, GlobalWord* word)
                                   __attribute__((always_inline)) { fault.saved = *word; });
  block_barrier();
}

// `written` describes the pattern that was written.
template <class Tiles>
GPUREADY_DEVICE void after_write(const MemoryPassParams& written) {
  if (written.fault_count == 0) return;
  block_barrier();
  for_each_own_fault<Tiles>(
      written, [&](MemoryFaultEntry& fault, GlobalWord* word)
                   __attribute__((always_inline)) { *word = faulty_word(written, fault, *word); });
}

}  // namespace gpuready::device
