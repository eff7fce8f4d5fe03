// AVX2 tier of the CPU's memory kernels. Compiled for AVX2 and CLFLUSHOPT: only plain functions and
// intrinsics here, nothing that the linker could share with code for older CPUs.
#include <immintrin.h>

#include "kernel_abi/memory_mix.h"
#include "kernels/cpu/memory_cpu.h"

namespace gpuready::cpu {
namespace {

using u64 = unsigned long long;

// In each 64-bit lane: hi += lo * multiplier, or -= for unmixing (with the negated multiplier).
inline __m256i add_product(__m256i words, __m256i multiplier) {
  return _mm256_add_epi32(words, _mm256_slli_epi64(_mm256_mul_epu32(words, multiplier), 32));
}

// In each 64-bit lane: lo ^= rotr(hi, bits). With hi in both halves a 64-bit shift rotates.
template <int bits>
inline __m256i xor_rotated(__m256i words) {
  const __m256i high = _mm256_srli_epi64(_mm256_shuffle_epi32(words, 0xF5), bits);
  return _mm256_xor_si256(words, _mm256_blend_epi32(_mm256_setzero_si256(), high, 0x55));
}

inline __m256i mix(__m256i words, __m256i m1, __m256i m2, __m256i invert) {
  words = xor_rotated<kMixRotation1>(add_product(words, m1));
  words = xor_rotated<kMixRotation2>(add_product(words, m2));
  return _mm256_xor_si256(words, invert);
}

inline __m256i unmix(__m256i words, __m256i minus_m1, __m256i minus_m2, __m256i invert) {
  words = xor_rotated<kMixRotation2>(_mm256_xor_si256(words, invert));
  words = xor_rotated<kMixRotation1>(add_product(words, minus_m2));
  return add_product(words, minus_m1);
}

inline __m256i splat(u64 value) { return _mm256_set1_epi64x(static_cast<long long>(value)); }
inline __m256i four_from(u64 position) {
  return _mm256_add_epi64(splat(position), _mm256_set_epi64x(3, 2, 1, 0));
}

void write_avx2(u64* words, u64 count, u64 position, u64 invert) {
  u64 i = 0;
  // Streaming stores of 32 bytes need that alignment; the caller guarantees 16.
  for (; i < count && reinterpret_cast<__UINTPTR_TYPE__>(words + i) % 32 != 0; ++i) {
    _mm_stream_si64(reinterpret_cast<long long*>(words + i),
                    static_cast<long long>(mix_word(position + i, invert)));
  }
  const __m256i m1 = splat(kMixMultiplier1), m2 = splat(kMixMultiplier2), inversion = splat(invert);
  __m256i positions = four_from(position + i);
  for (; i + 4 <= count; i += 4) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(words + i), mix(positions, m1, m2, inversion));
    positions = _mm256_add_epi64(positions, splat(4));
  }
  for (; i < count; ++i) {
    _mm_stream_si64(reinterpret_cast<long long*>(words + i),
                    static_cast<long long>(mix_word(position + i, invert)));
  }
}

VerifySums verify_avx2(const u64* words, u64 count, u64 position, u64 invert) {
  const __m256i m1 = splat(0u - kMixMultiplier1), m2 = splat(0u - kMixMultiplier2);
  const __m256i inversion = splat(invert);
  __m256i positions = four_from(position), differing = _mm256_setzero_si256(), sum = differing;
  u64 i = 0;
  for (; i + 4 <= count; i += 4) {
    __m256i found = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i));
    found = unmix(found, m1, m2, inversion);
    differing = _mm256_or_si256(differing, _mm256_xor_si256(found, positions));
    sum = _mm256_add_epi64(sum, found);
    positions = _mm256_add_epi64(positions, splat(4));
  }
  alignas(32) u64 lanes[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum);
  VerifySums sums;
  sums.name_sum = lanes[0] + lanes[1] + lanes[2] + lanes[3];
  sums.all_good = _mm256_testz_si256(differing, differing) != 0;
  for (; i < count; ++i) {
    const u64 found = unmix_word(words[i], invert);
    if (found != position + i) sums.all_good = false;
    sums.name_sum += found;
  }
  return sums;
}

void flush_lines(const void* start, u64 bytes) {
  _mm_sfence();
  const char* line = static_cast<const char*>(start);
  for (u64 offset = 0; offset < bytes; offset += 64)
    _mm_clflushopt(const_cast<char*>(line + offset));
  _mm_mfence();
}

}  // namespace

const MemoryTier kMemoryAvx2{"avx2", write_avx2, verify_avx2, flush_lines};

}  // namespace gpuready::cpu
