// Device code of the bandwidth and peers tests. What is copied by kernel is copied by the memory
// test's copy kernel; these fill and check, at no less than half of the memory's rate.
#pragma once

#include "kernel_abi/transfer_params.h"
#include "kernels/cuda/memory_device.cuh"

namespace gpuready::device {

GPUREADY_DEVICE u64 global_thread() {
  return static_cast<u64>(block_index()) * __nvvm_read_ptx_sreg_ntid_x() + thread_index();
}
GPUREADY_DEVICE u64 global_threads() {
  return static_cast<u64>(block_count()) * __nvvm_read_ptx_sreg_ntid_x();
}

GPUREADY_DEVICE void add_up(u64 results_address, u64 words, u64 sum) {
  auto* results = reinterpret_cast<TransferResults*>(results_address);
  words = warp_sum(words);
  sum = warp_sum(sum);
  if (thread_index() % 32 == 0) {
    atomic_add(&results->words_checked, words);
    atomic_add(&results->sum, sum);
  }
}

GPUREADY_DEVICE void fill_transfer(const TransferFillParams& p) {
  u64 words = 0, sum = 0;
  for (u64 pair = global_thread(); pair < p.words / 2; pair += global_threads()) {
    const u64 x = pair * 2 + p.salt;
    store_pair<Hint::none>(p.target_address + pair * 16, Pair{mix_word(x, 0), mix_word(x + 1, 0)});
    sum += x + x + 1;
    words += 2;
  }
  add_up(p.results_address, words, sum);
}

GPUREADY_DEVICE void note_bad(u64 results_address, u64 index, u64 expected, u64 actual) {
  auto* results = reinterpret_cast<TransferResults*>(results_address);
  atomic_add(&results->bad_words, 1);
  __nvvm_atom_min_gen_ull(&results->first_bad_index, index);
  const u64 slot =
      static_cast<u64>(__nvvm_atom_add_gen_ll(reinterpret_cast<long long*>(&results->recorded), 1));
  if (slot < kTransferBadWordCapacity) results->entries[slot] = {index, expected, actual};
}

GPUREADY_DEVICE void check_transfer(const TransferCheckParams& p) {
  u64 words = 0, sum = 0;
  for (u64 pair = global_thread(); pair < p.words / 2; pair += global_threads()) {
    const u64 x = pair * 2 + p.salt;
    const Pair read = load_pair<Hint::streaming>(p.base_address + pair * 16);
    const u64 even = unmix_word(read.x, 0), odd = unmix_word(read.y, 0);
    sum += even + odd;
    words += 2;
    if (even != x) note_bad(p.results_address, pair * 2, mix_word(x, 0), read.x);
    if (odd != x + 1) note_bad(p.results_address, pair * 2 + 1, mix_word(x + 1, 0), read.y);
  }
  add_up(p.results_address, words, sum);
}

GPUREADY_DEVICE u64 sum_of(u64 a, u64 b, u64 halves) {
  if (halves == 0) return a + b;
  const unsigned low = static_cast<unsigned>(a) + static_cast<unsigned>(b);
  const unsigned high = static_cast<unsigned>(a >> 32) + static_cast<unsigned>(b >> 32);
  return static_cast<u64>(high) << 32 | low;
}

GPUREADY_DEVICE void check_sum(const TransferSumParams& p) {
  u64 words = 0, sum = 0;
  for (u64 i = global_thread(); i < p.words; i += global_threads()) {
    const u64 expected = sum_of(mix_word(i + p.salt_a, 0), mix_word(i + p.salt_b, 0), p.halves);
    const u64 actual = *reinterpret_cast<const volatile GlobalWord*>(p.base_address + i * 8);
    sum += actual;
    ++words;
    if (actual != expected) note_bad(p.results_address, i, expected, actual);
  }
  add_up(p.results_address, words, sum);
}

// Neighbouring threads add to neighbouring counters, and all of them soon to the same ones.
GPUREADY_DEVICE void add_atomically(const PeerAtomicsParams& p) {
  u64 adds = 0, sum = 0;
  for (u64 i = global_thread(); i < p.counters * p.adds_each; i += global_threads()) {
    u64 before;
    asm volatile("atom.sys.global.add.u64 %0, [%1], %2;"
                 : "=l"(before)
                 : "l"(p.counters_address + i % p.counters * 8), "l"(u64{1})
                 : "memory");
    sum += before;
    ++adds;
  }
  add_up(p.results_address, adds, sum);
}

}  // namespace gpuready::device
