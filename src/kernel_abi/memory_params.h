// What the host and the memory kernels tell each other. Plain structs of 64-bit fields: the same
// bytes on the CPU, as CUDA kernel parameters and as Vulkan push constants (at most 128 bytes).
#pragma once

namespace gpuready {

// How a word is made from its place; memory_patterns.h has the functions.
inline constexpr unsigned long long kPatternAddress = 0, kPatternRandom = 1, kPatternWalking = 2,
                                    kPatternModulo = 3;
// Which words a write writes: all, or those alone that hold a modulo pattern's complement.
inline constexpr unsigned long long kWriteAll = 0, kWriteOthers = 1;

// One launch works on one contiguous part of the tested range. Addresses are aligned to 16 bytes
// and word counts are even.
struct MemoryPassParams {
  unsigned long long base_address;     // of the first word of this part
  unsigned long long words;            // 64-bit words in this part
  unsigned long long first_index;      // word offset of this part within the tested range
  unsigned long long salt;             // added to what names a word
  unsigned long long invert;           // 0, or all ones for the complement
  unsigned long long results_address;  // of a MemoryPassResults (all that verifies)
  unsigned long long pattern;          // kPatternAddress, ...
  unsigned long long key;              // of the pattern: see memory_patterns.h
  unsigned long long select;           // kWriteAll, ... (write only)
  unsigned long long descending;       // not 0: from the last tile to the first
  // Fault injection: a table of MemoryFaultEntry. Both zero in production: nothing is injected.
  unsigned long long faults_address;
  unsigned long long fault_count;
};
static_assert(sizeof(MemoryPassParams) <= 128);

struct MemoryBadWord {
  unsigned long long index, expected, actual;
};

inline constexpr unsigned kMemoryBadWordCapacity = 4096;

// Counts are added to one of several slots, each in a cache line of its own: as many additions to
// one place would hold the passes up.
inline constexpr unsigned kMemoryCountSlots = 64;
struct MemoryCountSlot {
  unsigned long long words_verified;  // counted by the threads that read them
  unsigned long long name_sum;        // of what the words read decode to, mod 2^64
  unsigned long long reserved[14];
};

// Reset by kRecord (first_bad_index: all ones) before a verify pass; every launch of it adds.
struct MemoryPassResults {
  unsigned long long bad_words;
  unsigned long long first_bad_index;  // lowest word offset that was bad
  unsigned long long recorded;         // entries asked for; may exceed the capacity
  unsigned long long reserved[13];
  MemoryCountSlot slots[kMemoryCountSlots];       // any distribution over them; the sums count
  MemoryBadWord entries[kMemoryBadWordCapacity];  // in no particular order
};

// What a fault does to its word, once the launch has written all of its part. A launch that does
// not write the word leaves it alone, unless a bit is stuck.
inline constexpr unsigned long long kFaultFlip = 0,  // `bits` of what was written are flipped
    kFaultStuck = 1,                                 // `bits` are those of `value`
    kFaultKeep = 2,                                  // the word holds what it held before
    kFaultCouple = 3;  // `bits` are flipped if writing `aggressor` left its bits `trigger` as 1s
                       // (value all ones) or as 0s (value 0)

struct MemoryFaultEntry {
  unsigned long long kind;
  unsigned long long word;  // word offset within the tested range
  unsigned long long bits;
  unsigned long long value;      // kFaultStuck, kFaultCouple: 0 or all ones
  unsigned long long aggressor;  // kFaultCouple: word offset
  unsigned long long trigger;    // kFaultCouple: one bit
  unsigned long long saved;      // the device's own: what the word held before the launch
  unsigned long long reserved;
};

struct MemoryCopyParams {
  unsigned long long target_address, source_address;
  unsigned long long bytes;  // a multiple of 16
};

// Repeated reading of `lines` places, `stride_bytes` apart, `rounds` times. With `timed`, by one
// thread that adds up how long each of `lines` reads took, after reading them `rounds` times.
struct MemoryHammerParams {
  unsigned long long base_address;
  unsigned long long lines, stride_bytes;
  unsigned long long rounds;
  unsigned long long timed;
  unsigned long long results_address;  // of a MemoryHammerResults
};

struct MemoryHammerResults {
  unsigned long long reads;     // counted by the threads that read
  unsigned long long ticks;     // of the timed reads, in the device's own clock
  unsigned long long word_xor;  // of all words read: nothing is read in vain
  unsigned long long reserved;
};

}  // namespace gpuready
