// What the host and the kernels of the bandwidth and peers tests tell each other. Plain structs of
// 64-bit fields, at most 128 bytes each as parameters. Addresses are aligned to 16 bytes and word
// counts are even. Word i of a buffer holds mix_word(i + salt) (memory_mix.h): unique to its
// position, and to the transfer, since every transfer has a salt of its own.
#pragma once

namespace gpuready {

struct TransferFillParams {
  unsigned long long target_address;
  unsigned long long words;
  unsigned long long salt;
  unsigned long long results_address;  // of a TransferResults: what the threads have filled
};

struct TransferCheckParams {
  unsigned long long base_address;
  unsigned long long words;
  unsigned long long salt;
  unsigned long long results_address;  // of a TransferResults
};

// Each word must be the sum of the words of both salts: of the whole words, or of both their 32-bit
// halves apart.
struct TransferSumParams {
  unsigned long long base_address;
  unsigned long long words;
  unsigned long long salt_a, salt_b;
  unsigned long long halves;  // 0: one sum of 64 bits; 1: two sums of 32 bits
  unsigned long long results_address;
};

// Adds 1 to each of `counters` 64-bit words, `adds_each` times, atomically for the whole system.
struct PeerAtomicsParams {
  unsigned long long counters_address;
  unsigned long long counters;
  unsigned long long adds_each;
  unsigned long long results_address;
};

struct TransferBadWord {
  unsigned long long index, expected, actual;
};

inline constexpr unsigned kTransferBadWordCapacity = 256;

// Reset by kRecord (first_bad_index: all ones) before a launch.
struct TransferResults {
  unsigned long long words_checked;  // counted by the threads that had them; adds done, of atomics
  // Of the positions that the words decode to (fill, check), of the words (sum), of the values that
  // the adds returned (atomics); mod 2^64, and known beforehand.
  unsigned long long sum;
  unsigned long long bad_words;
  unsigned long long first_bad_index;
  unsigned long long recorded;  // entries asked for; may exceed the capacity
  unsigned long long reserved[3];
  TransferBadWord entries[kTransferBadWordCapacity];  // in no particular order
};

}  // namespace gpuready
