// The AVX-VNNI tier: 256-bit dot products that add into 32 bits, so nothing overflows early.
#include <immintrin.h>

#include "ternary/kernels_common.h"

namespace gpuready::ternary::kernels {
namespace {

// Bytes that are asked for ahead.
constexpr size_t kAhead = 4096;

inline __m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void store(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
inline __m256i broadcast(const int8_t* y) {
  int32_t quad;
  __builtin_memcpy(&quad, y, 4);
  return _mm256_set1_epi32(quad);
}
inline __m256i dot(__m256i sum, __m256i w, __m256i y) { return _mm256_dpbusd_avx_epi32(sum, w, y); }
inline __m256i add(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }

// No field is shifted: field f counts 4^f times and has its own sum, at most 64 * 2 * 128 * 4 a
// block. 16384 blocks would reach 2^30.
constexpr size_t kTwoBitBlocks = 16384;

void gemv_two_bit(const GemvArgs& a) {
  const __m256i masks[4] = {_mm256_set1_epi8(0x03), _mm256_set1_epi8(0x0C), _mm256_set1_epi8(0x30),
                            _mm256_set1_epi8(static_cast<char>(0xC0))};
  for (size_t panel = 0; panel < a.panels; ++panel) {
    const uint8_t* w = a.packed + panel * a.blocks * kBlockBytes;
    const int8_t* y = a.y;
    __m256i total[2] = {_mm256_set1_epi32(-a.y_sum), _mm256_set1_epi32(-a.y_sum)};
    for (size_t left = a.blocks; left > 0;) {
      const size_t now = left < kTwoBitBlocks ? left : kTwoBitBlocks;
      __m256i sum[2][4];
      for (auto& half : sum) {
        for (__m256i& field : half) field = _mm256_setzero_si256();
      }
      for (size_t b = 0; b < now; ++b, w += kBlockBytes, y += 16) {
        _mm_prefetch(reinterpret_cast<const char*>(w) + kAhead, _MM_HINT_T0);
        const __m256i w0 = load(w), w1 = load(w + 32);
#pragma GCC unroll 4
        for (int f = 0; f < 4; ++f) {
          const __m256i quad = broadcast(y + 4 * f);
          sum[0][f] = dot(sum[0][f], _mm256_and_si256(w0, masks[f]), quad);
          sum[1][f] = dot(sum[1][f], _mm256_and_si256(w1, masks[f]), quad);
        }
      }
      for (int h = 0; h < 2; ++h) {
        for (int f = 0; f < 4; ++f) total[h] = add(total[h], _mm256_srai_epi32(sum[h][f], 2 * f));
      }
      left -= now;
    }
    store(a.out + panel * kPanelRows, total[0]);
    store(a.out + panel * kPanelRows + 8, total[1]);
  }
}

// With r[0] the byte and r[f + 1] = 3 * r[f] mod 256, digit f is (3 * r[f] - r[f + 1]) / 256. So
// the digits need not be formed: 256 * sum(digit * y) = 3 * sum(r[f] * y) - sum(r[f + 1] * y),
// modulo 2^32. What is looked for is below 2^23 in magnitude for up to 32768 columns; 1600 blocks.
constexpr size_t kFiveTritBlocks = 1600;

void gemv_five_trits(const GemvArgs& a) {
  for (size_t panel = 0; panel < a.panels; ++panel) {
    const uint8_t* w = a.packed + panel * a.blocks * kBlockBytes;
    const int8_t* y = a.y;
    __m256i total[2] = {_mm256_set1_epi32(-a.y_sum), _mm256_set1_epi32(-a.y_sum)};
    for (size_t left = a.blocks; left > 0;) {
      const size_t now = left < kFiveTritBlocks ? left : kFiveTritBlocks;
      __m256i before[2][2], after[2][2];
      for (int h = 0; h < 2; ++h) {
        for (int i = 0; i < 2; ++i) before[h][i] = after[h][i] = _mm256_setzero_si256();
      }
      for (size_t b = 0; b < now; ++b, w += kBlockBytes, y += 20) {
        _mm_prefetch(reinterpret_cast<const char*>(w) + kAhead, _MM_HINT_T0);
        __m256i r[2] = {load(w), load(w + 32)};
#pragma GCC unroll 5
        for (int f = 0; f < 5; ++f) {
          const __m256i quad = broadcast(y + 4 * f);
#pragma GCC unroll 2
          for (int h = 0; h < 2; ++h) {
            before[h][f & 1] = dot(before[h][f & 1], r[h], quad);
            r[h] = _mm256_add_epi8(r[h], _mm256_add_epi8(r[h], r[h]));
            after[h][f & 1] = dot(after[h][f & 1], r[h], quad);
          }
        }
      }
      for (int h = 0; h < 2; ++h) {
        const __m256i once = add(before[h][0], before[h][1]);
        const __m256i sum =
            _mm256_sub_epi32(add(once, add(once, once)), add(after[h][0], after[h][1]));
        total[h] = add(total[h], _mm256_srai_epi32(sum, 8));
      }
      left -= now;
    }
    store(a.out + panel * kPanelRows, total[0]);
    store(a.out + panel * kPanelRows + 8, total[1]);
  }
}

void unpack_two_bit(const uint8_t* packed, size_t blocks, uint8_t* quads) {
  const __m256i low = _mm256_set1_epi8(3);
  for (size_t b = 0; b < blocks; ++b, packed += kBlockBytes, quads += 4 * kBlockBytes) {
    for (int half = 0; half < 64; half += 32) {
      const __m256i w = load(packed + half);
      store(quads + half, _mm256_and_si256(w, low));
      store(quads + 64 + half, _mm256_and_si256(_mm256_srli_epi16(w, 2), low));
      store(quads + 128 + half, _mm256_and_si256(_mm256_srli_epi16(w, 4), low));
      store(quads + 192 + half, _mm256_and_si256(_mm256_srli_epi16(w, 6), low));
    }
  }
}

// The digit is the number of thresholds that the fraction has reached; see kernels_avx2.cc.
void unpack_five_trits(const uint8_t* packed, size_t blocks, uint8_t* quads) {
  const __m256i one = _mm256_set1_epi8(1);
  for (size_t b = 0; b < blocks; ++b, packed += kBlockBytes, quads += 5 * kBlockBytes) {
    for (int half = 0; half < 64; half += 32) {
      __m256i x = _mm256_xor_si256(load(packed + half), _mm256_set1_epi8(-128));
      for (int f = 0; f < 5; ++f) {
        const __m256i below = _mm256_cmpgt_epi8(_mm256_set1_epi8(-42), x);
        const __m256i above = _mm256_cmpgt_epi8(x, _mm256_set1_epi8(42));
        store(quads + 64 * f + half, _mm256_add_epi8(one, _mm256_sub_epi8(below, above)));
        x = _mm256_add_epi8(x, _mm256_add_epi8(x, x));
      }
    }
  }
}

template <int rows>
void multiply_rows(const uint8_t* quads, size_t quad_count, const int8_t* y, size_t y_stride,
                   int32_t* sums, bool first) {
  __m256i sum[rows][2];
#pragma GCC unroll 6
  for (int m = 0; m < rows; ++m) {
    sum[m][0] = first ? _mm256_setzero_si256() : load(sums + m * 32);
    sum[m][1] = first ? _mm256_setzero_si256() : load(sums + m * 32 + 8);
  }
  for (size_t q = 0; q < quad_count; ++q, quads += kBlockBytes, y += 4) {
    const __m256i w0 = load(quads), w1 = load(quads + 32);
#pragma GCC unroll 6
    for (int m = 0; m < rows; ++m) {
      const __m256i quad = broadcast(y + static_cast<size_t>(m) * y_stride);
      sum[m][0] = dot(sum[m][0], w0, quad);
      sum[m][1] = dot(sum[m][1], w1, quad);
    }
  }
#pragma GCC unroll 6
  for (int m = 0; m < rows; ++m) {
    store(sums + m * 32, sum[m][0]);
    store(sums + m * 32 + 8, sum[m][1]);
  }
}

void gemm(const GemmArgs& a) {
  for (int panel = 0; panel < a.panels; ++panel) {
    size_t m = 0;
    const auto at = [&](auto multiply, int rows) {
      multiply(a.quads[panel], a.quad_count, a.y + m * a.y_stride, a.y_stride,
               a.sums + m * 32 + panel * kPanelRows, a.first);
      m += static_cast<size_t>(rows);
    };
    while (m + 6 <= a.rows) at(multiply_rows<6>, 6);
    while (m + 2 <= a.rows) at(multiply_rows<2>, 2);
    if (m < a.rows) at(multiply_rows<1>, 1);
  }
}

}  // namespace

const Table kAvxVnni{{gemv_two_bit, gemv_five_trits},
                     {unpack_two_bit, unpack_five_trits},
                     gemm,
                     finish_rows,
                     quantise_row};

}  // namespace gpuready::ternary::kernels
