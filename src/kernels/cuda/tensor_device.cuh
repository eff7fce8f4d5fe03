// What the kernels of the tensor test have in common: counting, checking, faults on purpose.
// Compiled by clang without any CUDA header.
#pragma once

#include "kernel_abi/tensor_params.h"
#include "kernels/cuda/target.cuh"

namespace gpuready::device {

typedef __attribute__((address_space(1))) unsigned GlobalWord;

// Volatile: a block that is moved (preemption) must be seen to have been.
GPUREADY_DEVICE unsigned unit_index() {
  unsigned unit;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
  return unit;
}
GPUREADY_DEVICE u64 clock_cycles() {
  u64 cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

// A chain takes some thousand cycles; a fault on purpose shall not hang whatever the clock says.
inline constexpr u64 kMaxChainCycles = 1 << 13;

template <unsigned kCount>
GPUREADY_DEVICE unsigned fold(const unsigned (&values)[kCount]) {
  unsigned sums[kTensorFoldSums] = {};
#pragma unroll
  for (unsigned i = 0; i < kCount; ++i)
    sums[i % kTensorFoldSums] = tensor_fold_add(sums[i % kTensorFoldSums], values[i], i);
  return tensor_fold_end(sums);
}

// What one thread keeps of its chains.
struct Checker {
  const TensorParams& p;
  TensorResults* results;
  u64 good = 0, start = 0;
  bool faulty;  // this SM is the one to compute wrongly or slowly

  GPUREADY_DEVICE explicit Checker(const TensorParams& params)
      : p(params),
        results(reinterpret_cast<TensorResults*>(params.results_address)),
        faulty(params.fault_kind != kTensorFaultNone &&
               (params.fault_unit == unit_index() || params.fault_unit == kTensorEveryUnit)) {
    if (thread_index() == 0) results->units[block_index()].unit_at_start = unit_index();
  }

  template <unsigned kCount>
  GPUREADY_DEVICE void spoil(unsigned (&values)[kCount], u64 chain, u64 chain_start) const {
    if (p.fault_kind == kTensorFaultSlow || p.fault_kind == kTensorFaultIdle) {
      // Long enough to show although warp groups, or warps, take turns on the tensor cores; asleep,
      // because a loop that reads the clock keeps the others' matrix instructions from their
      // registers.
      const u64 now = clock_cycles(), chain_cycles = now - chain_start;
      const u64 times = p.fault_kind == kTensorFaultSlow ? 4 : 16;
      const u64 wait = times * (chain_cycles < kMaxChainCycles ? chain_cycles : kMaxChainCycles);
      do {
        asm volatile("nanosleep.u32 200;");
      } while (clock_cycles() - now < wait);
    } else if (chain == p.fault_chain && thread_index() == p.fault_thread) {
      const unsigned bits = static_cast<unsigned>(p.fault_bits);
#pragma unroll
      for (unsigned i = 0; i < kCount; ++i)
        if (i == p.fault_element)
          values[i] = p.fault_kind == kTensorFaultNan ? bits : values[i] ^ bits;
    }
  }

  // Folds and compares; `values` is what this chain accumulated in this thread.
  template <unsigned kCount>
  GPUREADY_DEVICE void check(unsigned (&values)[kCount], unsigned golden, u64 chain,
                             u64 chain_start) {
    if (faulty) spoil(values, chain, chain_start);
    const unsigned actual = fold(values);
    if (actual == golden) {
      ++good;
      return;
    }
    const u64 slot =
        static_cast<u64>(__nvvm_atom_add_gen_ll(reinterpret_cast<long long*>(&results->bad), 1));
    if (slot >= kTensorMismatchCapacity) return;
    TensorMismatch& entry = results->mismatches[slot];
    entry.unit = unit_index();
    entry.thread = thread_index();
    entry.chain = chain;
    entry.fold = actual;
#pragma unroll
    for (unsigned i = 0; i < kCount; ++i) entry.values[i] = values[i];
  }

  GPUREADY_DEVICE void begin() { start = clock_cycles(); }
  // Cycles are those of the slowest thread of the block.
  GPUREADY_DEVICE void end() {
    TensorUnit& unit = results->units[block_index()];
    __nvvm_atom_max_gen_ull(&unit.cycles, clock_cycles() - start);
    __nvvm_atom_add_gen_ll(reinterpret_cast<long long*>(&unit.good), static_cast<long long>(good));
    if (thread_index() == 0) unit.unit_at_end = unit_index();
  }
};

}  // namespace gpuready::device
