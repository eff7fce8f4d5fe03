// What the host and the memory kernels tell each other. Plain structs of 64-bit fields: the same
// bytes on the CPU, as CUDA kernel parameters and as Vulkan push constants (at most 128 bytes).
#pragma once

namespace gpuready {

// One launch works on one contiguous part of the tested range. Addresses are aligned to 16 bytes
// and word counts are even.
struct MemoryPassParams {
  unsigned long long base_address;     // of the first word of this part
  unsigned long long words;            // 64-bit words in this part
  unsigned long long first_index;      // word offset of this part within the tested range
  unsigned long long salt;             // position of a word = its word offset + salt
  unsigned long long invert;           // 0, or all ones for the complement
  unsigned long long results_address;  // of a MemoryPassResults (verify only)
  // Fault injection: after writing, the word at this word offset is stored with these bits flipped.
  // Zero bits in production: nothing is injected.
  unsigned long long fault_index;
  unsigned long long fault_bits;
};
static_assert(sizeof(MemoryPassParams) <= 128);

struct MemoryBadWord {
  unsigned long long index, expected, actual;
};

inline constexpr unsigned kMemoryBadWordCapacity = 4096;

// Zeroed by the host (first_bad_index: all ones) before a verify pass; every launch of it adds.
struct MemoryPassResults {
  unsigned long long words_verified;  // counted by the threads that read them
  unsigned long long position_sum;    // of the positions that the words read decode to, mod 2^64
  unsigned long long bad_words;
  unsigned long long first_bad_index;  // lowest word offset that was bad
  unsigned long long recorded;         // entries asked for; may exceed the capacity
  unsigned long long reserved[3];
  MemoryBadWord entries[kMemoryBadWordCapacity];  // in no particular order
};

struct MemoryCopyParams {
  unsigned long long target_address, source_address;
  unsigned long long bytes;  // a multiple of 16
};

}  // namespace gpuready
