#include "kernels/cpu/memory_cpu.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#include <x86intrin.h>
#endif

#include "base/cpuid.h"
#include "kernel_abi/memory_patterns.h"

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
    sums.name_sum += found;
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
    const bool clflushopt = (cpuid(7).b >> 23 & 1) != 0;
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

u64 add(u64& target, u64 value) { return std::atomic_ref(target).fetch_add(value); }

u64 load_word(const u64* word) { return *const_cast<const volatile u64*>(word); }

// The part of a launch that one block of words is, wherever it starts.
struct Block {
  const MemoryPassParams& p;
  u64 start, count;
  u64* words() const { return reinterpret_cast<u64*>(p.base_address) + start; }
  u64 index() const { return p.first_index + start; }
};

template <class Work>
void for_each_block(const MemoryPassParams& p, CpuSlice slice, Work work) {
  const u64 blocks = (p.words + kBlockWords - 1) / kBlockWords;
  for (u64 i = slice.index; i < blocks; i += slice.count) {
    const u64 start = (p.descending != 0 ? blocks - 1 - i : i) * kBlockWords;
    work(Block{p, start, std::min(kBlockWords, p.words - start)});
  }
}

void write_block(const Block& b) {
  const MemoryPassParams& p = b.p;
  if (p.pattern == kPatternAddress)
    return cpu::memory_tier().write(b.words(), b.count, b.index() + p.salt, p.invert);
  with_pattern(p.pattern, [&](auto pattern) {
    for (u64 i = 0; i < b.count; ++i) {
      const NamedWord named = pattern.at(p, b.index() + i);
      if (is_selected(p, named)) cpu::store_word(b.words() + i, pattern.word(p, named));
    }
  });
}

cpu::VerifySums verify_block(const Block& b) {
  const MemoryPassParams& p = b.p;
  if (p.pattern == kPatternAddress)
    return cpu::memory_tier().verify(b.words(), b.count, b.index() + p.salt, p.invert);
  cpu::VerifySums sums;
  with_pattern(p.pattern, [&](auto pattern) {
    u64 differing = 0;
    for (u64 i = 0; i < b.count; ++i) {
      const NamedWord named = pattern.at(p, b.index() + i);
      const u64 found = pattern.decode(p, named.invert, load_word(b.words() + i));
      differing |= found ^ named.name;
      sums.name_sum += found;
    }
    sums.all_good = differing == 0;
  });
  return sums;
}

void note_bad_words(const Block& b, MemoryPassResults& results) {
  for (u64 i = 0; i < b.count; ++i) {
    const u64 actual = load_word(b.words() + i), index = b.index() + i;
    const u64 expected = word_at(b.p, index);
    if (actual == expected) continue;
    add(results.bad_words, 1);
    std::atomic_ref first(results.first_bad_index);
    for (u64 seen = first; index < seen && !first.compare_exchange_weak(seen, index);) {
    }
    const u64 slot = add(results.recorded, 1);
    if (slot < kMemoryBadWordCapacity) results.entries[slot] = {index, expected, actual};
  }
}

// Injected faults of this block's words.
template <class Work>
void for_each_fault(const Block& b, Work work) {
  auto* faults = reinterpret_cast<MemoryFaultEntry*>(b.p.faults_address);
  for (u64 i = 0; i < b.p.fault_count; ++i) {
    const u64 word = faults[i].word - b.index();
    if (word < b.count) work(faults[i], b.words() + word);
  }
}
void before_write(const Block& b) {
  for_each_fault(b, [](MemoryFaultEntry& fault, u64* word) { fault.saved = load_word(word); });
}
void after_write(const Block& b) {
  for_each_fault(b, [&](const MemoryFaultEntry& fault, u64* word) {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // after what was streamed to it
    *const_cast<volatile u64*>(word) = faulty_word(b.p, fault, load_word(word));
  });
}

template <bool invert>
void verify_all(const MemoryPassParams& p, CpuSlice slice) {
  auto& results = *reinterpret_cast<MemoryPassResults*>(p.results_address);
  MemoryPassParams inverted = p;
  inverted.invert = ~p.invert;
  u64 verified = 0, name_sum = 0;
  for_each_block(p, slice, [&](const Block& b) {
    const auto sums = verify_block(b);
    verified += b.count;
    name_sum += sums.name_sum;
    if (!sums.all_good) note_bad_words(b, results);
    if constexpr (invert) {
      const Block written{inverted, b.start, b.count};
      before_write(written);
      write_block(written);
      after_write(written);
      cpu::memory_tier().flush(b.words(), b.count * 8);
    }
  });
  MemoryCountSlot& slot = results.slots[slice.index % kMemoryCountSlots];
  add(slot.words_verified, verified);
  add(slot.name_sum, name_sum);
}

}  // namespace

void cpu_memory_write(const void* params, CpuSlice slice) {
  for_each_block(*static_cast<const MemoryPassParams*>(params), slice, [&](const Block& b) {
    before_write(b);
    write_block(b);
    after_write(b);
    cpu::memory_tier().flush(b.words(), b.count * 8);
  });
}

void cpu_memory_verify(const void* params, CpuSlice slice) {
  verify_all<false>(*static_cast<const MemoryPassParams*>(params), slice);
}

void cpu_memory_invert(const void* params, CpuSlice slice) {
  verify_all<true>(*static_cast<const MemoryPassParams*>(params), slice);
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

namespace {

// The processor's own clock, where there is one that can be read here; else 0.
u64 clock_ticks() {
#if defined(__x86_64__)
  unsigned core = 0;
  return __rdtscp(&core);
#else
  return 0;
#endif
}

}  // namespace

void cpu_memory_hammer(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const MemoryHammerParams*>(params);
  auto& results = *reinterpret_cast<MemoryHammerResults*>(p.results_address);
  const auto read_line = [&](u64 line) {
    return load_word(reinterpret_cast<const u64*>(p.base_address + line * p.stride_bytes));
  };
  u64 reads = 0, seen = 0, ticks = 0;
  if (p.timed != 0) {
    if (slice.index != 0) return;
    for (u64 round = 0; round <= p.rounds; ++round) {
      for (u64 line = 0; line < p.lines; ++line, ++reads) {
        const u64 start = clock_ticks();
        seen ^= read_line(line);
        if (round == p.rounds) ticks += clock_ticks() - start;
      }
    }
  } else {
    for (u64 round = 0; round < p.rounds; ++round)
      for (u64 line = slice.index; line < p.lines; line += slice.count, ++reads)
        seen ^= read_line(line);
  }
  add(results.reads, reads);
  add(results.ticks, ticks);
  std::atomic_ref(results.word_xor).fetch_xor(seen);
}

}  // namespace gpuready
