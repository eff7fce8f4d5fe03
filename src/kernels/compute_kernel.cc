#include "kernels/compute_kernel.h"

#include <time.h>

#include <vector>

#include "kernels/cpu/compute_golden.h"

GPUREADY_EMBEDDED(gpuready_ptx_compute_sm_50)
GPUREADY_EMBEDDED(gpuready_ptx_compute_sm_53)
GPUREADY_EMBEDDED(gpuready_ptx_compute_sm_61)
GPUREADY_EMBEDDED(gpuready_ptx_compute_sm_75)
GPUREADY_EMBEDDED(gpuready_spirv_compute)

namespace gpuready {
namespace {

using u64 = unsigned long long;

const KernelImage kImages[] = {
    {gpuready_ptx_compute_sm_50_begin, gpuready_ptx_compute_sm_50_end, 50, false},
    {gpuready_ptx_compute_sm_53_begin, gpuready_ptx_compute_sm_53_end, 53, false},  // fp16
    {gpuready_ptx_compute_sm_61_begin, gpuready_ptx_compute_sm_61_end, 61, false},  // dp4a
    {gpuready_ptx_compute_sm_75_begin, gpuready_ptx_compute_sm_75_end, 75, false},  // tanh
};

// Processor time, not wall time: a thread that must wait for its turn is not slow.
u64 thread_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<u64>(now.tv_sec) * 1'000'000'000 + static_cast<u64>(now.tv_nsec);
}

// Through this thread's own caches and back, as the device does through its shared memory.
void through_memory(const ComputeParams& p, std::vector<std::uint64_t>& results) {
  const unsigned key = compute_key(p.seed, kOpSharedMemory);
  std::vector<unsigned> words(p.shared_words);
  volatile unsigned* memory = words.data();
  for (unsigned i = 0; i < results.size(); i += p.shared_words) {
    for (unsigned w = 0; w < p.shared_words; ++w)
      memory[w] = compute_draw(key, p.first_index + i + w, 1);
    for (unsigned w = p.shared_words; w-- > 0;) results[i + w] = memory[w];
  }
}
// The processor's own atomic instructions on the record's cells.
void by_atomics(const ComputeParams& p, unsigned op, unsigned* cells,
                std::vector<std::uint64_t>& results) {
  const unsigned key = compute_key(p.seed, op);
  for (unsigned i = 0; i < results.size(); ++i) cells[i] = i / kComputeCells == 2 ? ~0u : 0;
  for (unsigned i = 0; i < compute_atomic_inputs(p.count); ++i) {
    const unsigned value = compute_draw(key, p.first_index + i, 1);
    unsigned* cell = cells + i % kComputeCells;
    __atomic_fetch_add(cell, value, __ATOMIC_RELAXED);
    __atomic_fetch_xor(cell + kComputeCells, value, __ATOMIC_RELAXED);
    const auto keep = [&](unsigned* target, auto better) {
      unsigned old = __atomic_load_n(target, __ATOMIC_RELAXED);
      while (better(value, old) &&
             !__atomic_compare_exchange_n(target, &old, value, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED)) {
      }
    };
    keep(cell + 2 * kComputeCells, [](unsigned a, unsigned b) { return a < b; });
    keep(cell + 3 * kComputeCells, [](unsigned a, unsigned b) { return a > b; });
  }
  for (unsigned i = 0; i < results.size(); ++i) results[i] = cells[i];
}

// One slice is one unit, and does what a block does on a GPU (compute.cu).
void cpu_compute(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const ComputeParams*>(params);
  auto& record = reinterpret_cast<ComputeRecord*>(p.records_address)[slice.index];
  const u64 start = thread_ns();
  const bool faulty = p.fault_unit == slice.index + 1;
  const unsigned passes = faulty && p.fault_kind == ComputeFaultKind::slow ? 2 : 1;
  u64 counted = 0, done[2] = {0, 0}, unused_sum = 0;
  std::vector<std::uint64_t> results;
  for (unsigned pass = 0; pass < passes; ++pass) {
    for (unsigned op = p.first_op; op < p.end_op; ++op) {
      if (!compute_op_is_there(op, true, 0)) continue;
      results.resize(compute_results(op, p.count, p.shared_words));
      if (op == kOpSharedMemory)
        through_memory(p, results);
      else if (op == kOpGlobalAtomics || op == kOpSharedAtomics)
        by_atomics(p, op, record.cells, results);
      else
        compute_golden_results(op, p.seed, p.first_index, p.count, results.data());
      if (faulty && p.fault_op == op && p.fault_kind != ComputeFaultKind::slow) {
        auto& result = results[p.fault_index - p.first_index];
        result = p.fault_kind == ComputeFaultKind::nan ? p.fault_bits : result ^ p.fault_bits;
      }
      u64 sum = 0;
      for (unsigned i = 0; i < results.size(); ++i)
        sum += compute_fold(results[i], p.first_index + i);
      if (p.store_unit == slice.index + 1 && op == p.first_op)
        for (unsigned i = 0; i < results.size(); ++i)
          reinterpret_cast<u64*>(p.store_address)[i] = results[i];
      if (pass == 0) {
        record.checksum[op] = sum;
        counted += results.size();
        done[op / 64] |= u64{1} << op % 64;
      } else {
        unused_sum += sum;
      }
    }
  }
  record.unit_at_start = record.unit_at_end = slice.index;
  record.results = counted;
  record.ops_done[0] = done[0];
  record.ops_done[1] = done[1];
  record.unused_sum = unused_sum;
  record.ticks = thread_ns() - start;
  record.nonce = p.nonce;
}

}  // namespace

const Kernel kCompute{"gpuready_compute", kImages, cpu_compute,
                      GPUREADY_SPIRV(gpuready_spirv_compute)};

bool compute_op_is_there_in_vulkan(unsigned op) {
  return op <= kOpRemU64 || op == kOpAddNormalF32 || op == kOpMulNormalF32 ||
         op == kOpSharedMemory || op == kOpRegisters || op == kOpGlobalAtomics ||
         op == kOpSharedAtomics;
}

bool compute_op_is_there(unsigned op, bool cpu, int compute_capability) {
  if (cpu) return op != kOpShuffle && op != kOpVote && op != kOpRegisters;
  if (op >= kOpAddF16 && op <= kOpFmaF16) return compute_capability >= 53;
  if (op == kOpTanh) return compute_capability >= 75;
  return true;
}

}  // namespace gpuready
