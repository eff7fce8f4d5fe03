// The pattern of the memory test: a bijection on 64-bit words, so that no two addresses of a range
// ever hold the same word. The same code is compiled for the GPU (memory.cu) and for the CPU.
//
// A word is two 32-bit halves; each of the four steps changes one half by a function of the other
// and is undone by the opposite operation with the same value (a Feistel network):
//   hi += lo * C1;   lo ^= rotr(hi, 28);   hi += lo * C2;   lo ^= rotr(hi, 23);
// Six 32-bit instructions a word: GPUs have no 64-bit multiplier, and at 2.4 words a clock and SM
// (an H200 at 4.3 TB/s) anything heavier would cost bandwidth. Both rotations were chosen by
// search: any one flipped bit of the low 36 flips 29 or more of the 64 on average
// (docs/memory-test.md).
#pragma once

// Always inlined: files compiled for newer CPUs include this too, and must not hand the linker a
// copy that older ones cannot run.
#if defined(__CUDA__) || defined(__HIP__)
#define GPUREADY_HOST_DEVICE __attribute__((device, always_inline))
#else
#define GPUREADY_HOST_DEVICE __attribute__((always_inline))
#endif

namespace gpuready {

inline constexpr unsigned kMixMultiplier1 = 0x9E3779B1u;  // odd, from the golden ratio
inline constexpr unsigned kMixMultiplier2 = 0x85EBCA6Bu;  // odd
inline constexpr int kMixRotation1 = 28;
inline constexpr int kMixRotation2 = 23;

GPUREADY_HOST_DEVICE constexpr unsigned rotate_right(unsigned value, int bits) {
  return value >> bits | value << (32 - bits);
}

// Word for `position` (its word offset plus the salt of the pass); `invert` is 0 or all ones.
GPUREADY_HOST_DEVICE constexpr unsigned long long mix_word(unsigned long long position,
                                                           unsigned long long invert) {
  unsigned lo = static_cast<unsigned>(position), hi = static_cast<unsigned>(position >> 32);
  hi += lo * kMixMultiplier1;
  lo ^= rotate_right(hi, kMixRotation1);
  hi += lo * kMixMultiplier2;
  lo ^= rotate_right(hi, kMixRotation2);
  return (static_cast<unsigned long long>(hi) << 32 | lo) ^ invert;
}

// The position that mix_word() turns into `word`.
GPUREADY_HOST_DEVICE constexpr unsigned long long unmix_word(unsigned long long word,
                                                             unsigned long long invert) {
  word ^= invert;
  unsigned lo = static_cast<unsigned>(word), hi = static_cast<unsigned>(word >> 32);
  lo ^= rotate_right(hi, kMixRotation2);
  hi -= lo * kMixMultiplier2;
  lo ^= rotate_right(hi, kMixRotation1);
  hi -= lo * kMixMultiplier1;
  return static_cast<unsigned long long>(hi) << 32 | lo;
}

}  // namespace gpuready
