#include "kernels/memory_cpu.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "kernels/memory_mix.h"

namespace gpuready {

using u64 = unsigned long long;

namespace cpu {
namespace {

// Loads and stores that are the pattern itself: volatile, so that none is merged or left out.
void store_word(u64* target, u64 value) {
#if defined(__x86_64__)
  _mm_stream_si64(reinterpret_cast<long long*>(target), static_cast<long long>(value));
#else
  *const_cast<volatile u64*>(target) = value;
#endif
}

void write_scalar(u64* words, u64 count, u64 position, u64 invert) {
  for (u64 i = 0; i < count; ++i) store_word(words + i, mix_word(position + i, invert));
}

VerifySums verify_scalar(const u64* words, u64 count, u64 position, u64 invert) {
  VerifySums sums;
  u64 differing = 0;
  for (u64 i = 0; i < count; ++i) {
    const u64 found = unmix_word(const_cast<const volatile u64*>(words)[i], invert);
    differing |= found ^ (position + i);
    sums.position_sum += found;
  }
  sums.all_good = differing == 0;
  return sums;
}

void flush_scalar(const void* start, u64 bytes) {
#if defined(__x86_64__)
  // CLFLUSH is part of SSE2, which every x86-64 has. Streaming stores are ordered before it.
  _mm_sfence();
  const char* line = static_cast<const char*>(start);
  for (u64 offset = 0; offset < bytes; offset += 64) _mm_clflush(line + offset);
  _mm_mfence();
#else
  // No portable flush: here the tested range must be larger than the caches (docs/memory-test.md).
  (void)start, (void)bytes;
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

const MemoryTier kMemoryScalar{"scalar", write_scalar, verify_scalar, flush_scalar};

const MemoryTier& memory_tier() {
#if defined(__x86_64__)
  static const bool avx2 = [] {
    unsigned a = 7, b = 0, c = 0, d = 0;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    const bool clflushopt = (b >> 23 & 1) != 0;
    return __builtin_cpu_supports("avx2") && clflushopt;
  }();
  if (avx2) return kMemoryAvx2;
#endif
  return kMemoryScalar;
}

}  // namespace cpu

namespace {

// Work is dealt in blocks of 64 KiB, round the threads, as tiles are on the GPU.
constexpr u64 kBlockWords = 8192;

template <class Work>
void for_each_block(u64 words, CpuSlice slice, Work work) {
  for (u64 start = slice.index * kBlockWords; start < words; start += slice.count * kBlockWords) {
    work(start, std::min(kBlockWords, words - start));
  }
}

u64 add(u64& target, u64 value) { return std::atomic_ref(target).fetch_add(value); }

void note_bad_words(const MemoryPassParams& p, u64 start, u64 count, MemoryPassResults& results) {
  const u64* words = reinterpret_cast<const u64*>(p.base_address);
  for (u64 i = start; i < start + count; ++i) {
    const u64 actual = const_cast<const volatile u64*>(words)[i];
    const u64 index = p.first_index + i, expected = mix_word(index + p.salt, p.invert);
    if (actual == expected) continue;
    add(results.bad_words, 1);
    std::atomic_ref first(results.first_bad_index);
    for (u64 seen = first; index < seen && !first.compare_exchange_weak(seen, index);) {
    }
    const u64 slot = add(results.recorded, 1);
    if (slot < kMemoryBadWordCapacity) results.entries[slot] = {index, expected, actual};
  }
}

}  // namespace

void cpu_memory_write(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const MemoryPassParams*>(params);
  u64* words = reinterpret_cast<u64*>(p.base_address);
  const cpu::MemoryTier& tier = cpu::memory_tier();
  for_each_block(p.words, slice, [&](u64 start, u64 count) {
    tier.write(words + start, count, p.first_index + p.salt + start, p.invert);
    const u64 fault = p.fault_index - p.first_index - start;
    if (p.fault_bits != 0 && fault < count) {
      const_cast<volatile u64*>(words)[start + fault] =
          mix_word(p.fault_index + p.salt, p.invert) ^ p.fault_bits;
    }
    tier.flush(words + start, count * 8);
  });
}

void cpu_memory_verify(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const MemoryPassParams*>(params);
  const u64* words = reinterpret_cast<const u64*>(p.base_address);
  auto& results = *reinterpret_cast<MemoryPassResults*>(p.results_address);
  const cpu::MemoryTier& tier = cpu::memory_tier();
  u64 verified = 0, position_sum = 0;
  for_each_block(p.words, slice, [&](u64 start, u64 count) {
    const auto sums = tier.verify(words + start, count, p.first_index + p.salt + start, p.invert);
    verified += count;
    position_sum += sums.position_sum;
    if (!sums.all_good) note_bad_words(p, start, count, results);
  });
  add(results.words_verified, verified);
  add(results.position_sum, position_sum);
}

void cpu_memory_copy(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const MemoryCopyParams*>(params);
  const u64 bytes = p.bytes / slice.count / 64 * 64, start = bytes * slice.index;
  const u64 end = slice.index + 1 == slice.count ? p.bytes : start + bytes;
  auto* target = reinterpret_cast<u64*>(p.target_address);
  const auto* source = reinterpret_cast<const u64*>(p.source_address);
  for (u64 i = start / 8; i < end / 8; ++i) cpu::store_word(target + i, source[i]);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace gpuready
