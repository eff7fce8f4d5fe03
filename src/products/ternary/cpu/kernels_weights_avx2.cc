// AVX2 and F16C: the two loops over floats by hand, the others by the compiler.
#include <immintrin.h>

#include "ternary/cpu/kernels_weights_common.h"

namespace gpuready::ternary::kernels {
namespace {

// Bytes that are asked for ahead.
constexpr size_t kAhead = 4096;

inline __m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void prefetch(const uint8_t* p) {
  _mm_prefetch(reinterpret_cast<const char*>(p) + kAhead, _MM_HINT_T0);
}

// Minus the code of each 32-bit or 16-bit word.
struct Negative {
  __m256i magnitude, threshold, greatest;
  __m256i of_words(__m256i w) {
    const __m256i m = _mm256_and_si256(w, magnitude);
    greatest = _mm256_max_epi32(greatest, m);
    return _mm256_sign_epi32(_mm256_cmpgt_epi32(m, threshold), w);
  }
  __m256i of_halves(__m256i w) {
    const __m256i m = _mm256_and_si256(w, magnitude);
    greatest = _mm256_max_epi16(greatest, m);
    return _mm256_sign_epi16(_mm256_cmpgt_epi16(m, threshold), w);
  }
};

uint32_t codes_f32(const uint8_t* words, size_t count, uint32_t threshold, int bias,
                   uint8_t* codes) {
  Negative negative{_mm256_set1_epi32(0x7FFFFFFF), _mm256_set1_epi32(static_cast<int>(threshold)),
                    _mm256_setzero_si256()};
  const __m256i offset = _mm256_set1_epi8(static_cast<char>(bias));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // packs go by halves
  size_t i = 0;
  for (; i + 32 <= count; i += 32, words += 128) {
    prefetch(words);
    prefetch(words + 64);
    const __m256i low =
        _mm256_packs_epi32(negative.of_words(load(words)), negative.of_words(load(words + 32)));
    const __m256i high = _mm256_packs_epi32(negative.of_words(load(words + 64)),
                                            negative.of_words(load(words + 96)));
    const __m256i all = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + i), _mm256_sub_epi8(offset, all));
  }
  alignas(32) uint32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), negative.greatest);
  uint32_t greatest = plain_codes<uint32_t>(words, count - i, threshold, bias, codes + i);
  for (const uint32_t lane : lanes) greatest = lane > greatest ? lane : greatest;
  return greatest;
}

uint32_t codes_halves(const uint8_t* words, size_t count, uint32_t threshold, int bias,
                      uint8_t* codes) {
  Negative negative{_mm256_set1_epi16(0x7FFF), _mm256_set1_epi16(static_cast<short>(threshold)),
                    _mm256_setzero_si256()};
  const __m256i offset = _mm256_set1_epi8(static_cast<char>(bias));
  size_t i = 0;
  for (; i + 32 <= count; i += 32, words += 64) {
    prefetch(words);
    const __m256i all = _mm256_permute4x64_epi64(
        _mm256_packs_epi16(negative.of_halves(load(words)), negative.of_halves(load(words + 32))),
        0xD8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + i), _mm256_sub_epi8(offset, all));
  }
  alignas(32) uint16_t lanes[16];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), negative.greatest);
  uint32_t greatest = plain_codes<uint16_t>(words, count - i, threshold, bias, codes + i);
  for (const uint16_t lane : lanes) greatest = lane > greatest ? lane : greatest;
  return greatest;
}

// Magnitudes of eight weights; `greatest` is of their bits, in lanes of 32 bits or, of f16, of 16.
inline __m256i eight_halves(const uint8_t* words, __m256i& greatest) {
  const __m256i w = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)));
  const __m256i m = _mm256_and_si256(w, _mm256_set1_epi32(0x7FFF));
  greatest = _mm256_max_epi32(greatest, m);
  return m;
}
struct F32 {
  static constexpr size_t kBytes = 4;
  static __m256 eight(const uint8_t* words, __m256i& greatest) {
    const __m256i m = _mm256_and_si256(load(words), _mm256_set1_epi32(0x7FFFFFFF));
    greatest = _mm256_max_epi32(greatest, m);
    return _mm256_castsi256_ps(m);
  }
};
struct F16 {
  static constexpr size_t kBytes = 2;
  static __m256 eight(const uint8_t* words, __m256i& greatest) {
    const __m128i w = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words));
    const __m128i m = _mm_and_si128(w, _mm_set1_epi16(0x7FFF));
    greatest = _mm256_max_epi16(greatest, _mm256_zextsi128_si256(m));
    return _mm256_cvtph_ps(m);
  }
};
struct Bf16 {
  static constexpr size_t kBytes = 2;
  static __m256 eight(const uint8_t* words, __m256i& greatest) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(eight_halves(words, greatest), 16));
  }
};

template <class Type, class Lane, float magnitude(const uint8_t*, uint32_t&)>
uint32_t sums(const uint8_t* words, size_t count, double* sums) {
  __m256i greatest = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + kSumPiece <= count; i += kSumPiece, ++sums) {
    __m256d lanes[4];
    for (__m256d& lane : lanes) lane = _mm256_setzero_pd();
    for (size_t j = 0; j < kSumPiece; j += 16, words += 16 * Type::kBytes) {
      prefetch(words);
#pragma GCC unroll 2
      for (size_t half = 0; half < 2; ++half) {
        const __m256 eight = Type::eight(words + 8 * half * Type::kBytes, greatest);
        __m256d& low = lanes[2 * half];
        __m256d& high = lanes[2 * half + 1];
        low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(eight)));
        high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(eight, 1)));
      }
    }
    const __m256d four =
        _mm256_add_pd(_mm256_add_pd(lanes[0], lanes[2]), _mm256_add_pd(lanes[1], lanes[3]));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    *sums = _mm_cvtsd_f64(_mm_add_pd(two, _mm_unpackhi_pd(two, two)));
  }
  alignas(32) Lane bits[sizeof greatest / sizeof(Lane)];
  _mm256_store_si256(reinterpret_cast<__m256i*>(bits), greatest);
  uint32_t most = plain_sums<magnitude, Type::kBytes>(words, count - i, sums);
  for (const Lane lane : bits) most = lane > most ? lane : most;
  return most;
}

}  // namespace

const WeightTable kWeightsAvx2{
    {codes_f32, codes_halves, codes_halves},
    {sums<F32, uint32_t, magnitude_f32>, sums<F16, uint16_t, magnitude_f16>,
     sums<Bf16, uint32_t, magnitude_bf16>},
    join,
    split,
    raise,
    {pack<0>, pack<1>}};

}  // namespace gpuready::ternary::kernels
