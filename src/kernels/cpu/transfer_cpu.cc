#include <algorithm>
#include <atomic>

#include "kernel_abi/memory_mix.h"
#include "kernels/transfer_kernels.h"

namespace gpuready {
namespace {

using u64 = unsigned long long;
constexpr u64 kBlockWords = 8192;  // dealt round the threads

template <class Work>
void for_each_word(u64 words, CpuSlice slice, Work work) {
  for (u64 start = slice.index * kBlockWords; start < words; start += slice.count * kBlockWords)
    for (u64 i = start; i < std::min(words, start + kBlockWords); ++i) work(i);
}

void note_bad(TransferResults& results, u64 index, u64 expected, u64 actual) {
  std::atomic_ref(results.bad_words).fetch_add(1);
  std::atomic_ref first(results.first_bad_index);
  for (u64 seen = first; index < seen && !first.compare_exchange_weak(seen, index);) {
  }
  const u64 slot = std::atomic_ref(results.recorded).fetch_add(1);
  if (slot < kTransferBadWordCapacity) results.entries[slot] = {index, expected, actual};
}

void add_up(TransferResults& results, u64 words, u64 sum) {
  std::atomic_ref(results.words_checked).fetch_add(words);
  std::atomic_ref(results.sum).fetch_add(sum);
}

u64 sum_of(u64 a, u64 b, u64 halves) {
  if (halves == 0) return a + b;
  const unsigned low = static_cast<unsigned>(a) + static_cast<unsigned>(b);
  const unsigned high = static_cast<unsigned>(a >> 32) + static_cast<unsigned>(b >> 32);
  return static_cast<u64>(high) << 32 | low;
}

}  // namespace

void cpu_transfer_fill(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const TransferFillParams*>(params);
  u64* words = reinterpret_cast<u64*>(p.target_address);
  u64 filled = 0, sum = 0;
  for_each_word(p.words, slice, [&](u64 i) {
    words[i] = mix_word(i + p.salt, 0);
    sum += i + p.salt;
    ++filled;
  });
  add_up(*reinterpret_cast<TransferResults*>(p.results_address), filled, sum);
}

void cpu_transfer_check(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const TransferCheckParams*>(params);
  const u64* words = reinterpret_cast<const u64*>(p.base_address);
  auto& results = *reinterpret_cast<TransferResults*>(p.results_address);
  u64 checked = 0, sum = 0;
  for_each_word(p.words, slice, [&](u64 i) {
    const u64 position = unmix_word(words[i], 0);
    sum += position;
    ++checked;
    if (position != i + p.salt) note_bad(results, i, mix_word(i + p.salt, 0), words[i]);
  });
  add_up(results, checked, sum);
}

void cpu_transfer_check_sum(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const TransferSumParams*>(params);
  const u64* words = reinterpret_cast<const u64*>(p.base_address);
  auto& results = *reinterpret_cast<TransferResults*>(p.results_address);
  u64 checked = 0, sum = 0;
  for_each_word(p.words, slice, [&](u64 i) {
    const u64 expected = sum_of(mix_word(i + p.salt_a, 0), mix_word(i + p.salt_b, 0), p.halves);
    sum += words[i];
    ++checked;
    if (words[i] != expected) note_bad(results, i, expected, words[i]);
  });
  add_up(results, checked, sum);
}

void cpu_peer_atomics(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const PeerAtomicsParams*>(params);
  u64* counters = reinterpret_cast<u64*>(p.counters_address);
  auto& results = *reinterpret_cast<TransferResults*>(p.results_address);
  u64 adds = 0, sum = 0;
  for_each_word(p.counters * p.adds_each, slice, [&](u64 i) {
    sum += std::atomic_ref(counters[i % p.counters]).fetch_add(1);
    ++adds;
  });
  add_up(results, adds, sum);
}

}  // namespace gpuready
