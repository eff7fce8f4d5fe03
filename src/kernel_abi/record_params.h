// What the host and the kernel that resets and seals results tell each other. Plain structs of
// 64-bit fields, the same bytes on every executor.
#pragma once

#include "kernel_abi/memory_mix.h"

namespace gpuready {

inline constexpr unsigned long long kRecordReset = 0, kRecordSeal = 1;

struct RecordParams {
  unsigned long long address;  // of the record, in 64-bit words
  unsigned long long words;
  unsigned long long nonce;         // of this launch; comes back in the seal
  unsigned long long seal_address;  // of a RecordSeal
  unsigned long long work;          // kRecordReset, kRecordSeal
  unsigned long long ones_word;     // the one word that a reset sets to all ones, not to 0
};

// What the launches wrote down, each as the last thing it did.
struct RecordSeal {
  unsigned long long reset_nonce, seal_nonce;
  unsigned long long words, checksum;  // as sealed
};

// What one word adds to the checksum. A bijection of the word for each index, so that one wrong
// word always changes the sum.
GPUREADY_HOST_DEVICE constexpr unsigned long long record_fold(unsigned long long word,
                                                              unsigned long long index) {
  return mix_word(word + index * 0x9E3779B97F4A7C15ull, 0);
}

}  // namespace gpuready
