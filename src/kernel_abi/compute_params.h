// What the host and the compute kernel tell each other: plain structs, the same bytes on every
// executor (at most 128 bytes of parameters).
//
// One launch makes every unit (an SM; a thread of the CPU) do the same operations on the same
// inputs, which each makes for itself from (seed, operation, index). A unit answers with one
// 64-bit checksum an operation, which the host predicts.
#pragma once

#include "kernel_abi/compute_ops.h"

namespace gpuready {

inline constexpr unsigned kComputeThreads = 1024;    // a block; half or all of what an SM holds
inline constexpr unsigned kComputeHipThreads = 512;  // on AMD's GPUs: 128 vector registers each
inline constexpr unsigned kComputeRegisters = 32;    // held by each thread in the register test
inline constexpr unsigned kComputeCells = 32;        // of each kind of atomic operation
// Results of one operation in one launch: whole rounds of the register test.
inline constexpr unsigned kComputeCount = kComputeThreads * kComputeRegisters;

enum class ComputeFaultKind : unsigned { none, flip, nan, slow };

struct ComputeParams {
  unsigned long long records_address;  // of one ComputeRecord a block
  unsigned long long seed;
  unsigned long long nonce;              // of this launch; comes back in each record
  unsigned first_op = 0, end_op = 0;     // operations first_op to end_op - 1
  unsigned first_index = 0, count = 0;   // of each operation; multiples of 1024
  unsigned shared_words = 0;             // 32-bit words of shared memory that a block tests
  unsigned store_unit = 0;               // unit + 1; 0: no one stores results
  unsigned long long store_address = 0;  // of the results of first_op, 64 bits each
  // Fault injection; all zero in production.
  ComputeFaultKind fault_kind = ComputeFaultKind::none;
  unsigned fault_unit = 0;  // unit + 1
  unsigned fault_op = 0, fault_index = 0;
  unsigned long long fault_bits = 0;
};
static_assert(sizeof(ComputeParams) <= 128);

struct ComputeRecord {
  unsigned long long nonce;  // written last
  unsigned unit_at_start, unit_at_end;
  unsigned long long ticks;        // clock cycles (the CPU: ns of processor time) for all of it
  unsigned long long results;      // folded into the checksums, counted as they were
  unsigned long long ops_done[2];  // bit set: this image has the operation and did it
  unsigned long long checksum[kComputeOps];
  unsigned long long unused_sum;  // what a slowed unit computed a second time
  unsigned cells[kComputeAtomics * kComputeCells];
};

// How many results an operation has in a launch.
GPUREADY_HOST_DEVICE constexpr unsigned compute_results(unsigned op, unsigned count,
                                                        unsigned shared_words) {
  if (op == kOpSharedMemory) {
    const unsigned rounds = count / shared_words;
    return (rounds ? rounds : 1) * shared_words;
  }
  if (op == kOpGlobalAtomics || op == kOpSharedAtomics) return kComputeAtomics * kComputeCells;
  return count;
}
// How many inputs the atomic operations take: enough to collide, few enough to be quick.
GPUREADY_HOST_DEVICE constexpr unsigned compute_atomic_inputs(unsigned count) {
  return count / 16 < kComputeThreads ? kComputeThreads : count / 16;
}

// What one result adds to the checksum. A bijection of the result for each index, so that one wrong
// result always changes the sum; sums are the same in any order.
GPUREADY_HOST_DEVICE constexpr unsigned long long compute_fold(unsigned long long result,
                                                               unsigned index) {
  const unsigned long long place =
      static_cast<unsigned long long>(index * 0x9E3779B1u) << 32 | (index * 0x85EBCA6Bu + 1);
  return mix_word(result + place, 0);
}

}  // namespace gpuready
