// What the tiers with 256-bit registers share, compiled again by each for its own instructions.
// Everything is in an unnamed namespace for that reason.
#pragma once

#include <immintrin.h>

#include "ternary/cpu/kernels_triples.h"

namespace gpuready::ternary::kernels {
namespace {

inline __m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void store(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }

// Four activations in every 32-bit lane.
inline __m256i broadcast(const int8_t* y) {
  int32_t quad;
  __builtin_memcpy(&quad, y, 4);
  return _mm256_set1_epi32(quad);
}

// A group's term of a panel, as add_group_terms() of kernels_common.h.
inline void add_term(__m256 (&values)[2], const __m256i (&sums)[2], const float* scales) {
  for (int half = 0; half < 2; ++half) {
    const __m256 term =
        _mm256_mul_ps(_mm256_cvtepi32_ps(sums[half]), _mm256_loadu_ps(scales + 8 * half));
    values[half] = _mm256_add_ps(values[half], term);
  }
}
inline void store_values(float* out, const __m256 (&values)[2]) {
  _mm256_storeu_ps(out, values[0]);
  _mm256_storeu_ps(out + 8, values[1]);
}

// Rows of activations times one panel, whose groups' terms are added. Sum: how a group's products
// are summed, which begins with a row's y_sum and ends with 32 bits less it.
template <class Sum, size_t rows>
void multiply_groups_of_rows(const GroupedGemmArgs& a, int panel, size_t m) {
  const int8_t* y = a.y + m * a.y_stride;
  const int32_t* y_sums = a.y_sums + m;
  const float* scales = a.scales[panel];
  float* values = a.values + m * 32 + panel * kPanelRows;
  bool first = a.first;
  for (size_t quad = 0; quad < a.quad_count; y_sums += a.y_sums_stride, scales += kPanelRows) {
    __m256i sum[rows][2];
    for (size_t r = 0; r < rows; ++r) sum[r][0] = sum[r][1] = Sum::begin(y_sums[r]);
    const size_t left = a.quad_count - quad;
    const size_t end = quad + (left < a.group_quads ? left : a.group_quads);
    for (; quad < end; ++quad, y += 4) {
      const uint8_t* w = a.quads[panel] + quad * kQuadBytes;
      const __m256i w0 = load(w), w1 = load(w + 32);
#pragma GCC unroll 6
      for (size_t r = 0; r < rows; ++r) {
        const __m256i four = broadcast(y + r * a.y_stride);
        sum[r][0] = Sum::add(sum[r][0], w0, four);
        sum[r][1] = Sum::add(sum[r][1], w1, four);
        asm("" : "+x"(sum[r][0]), "+x"(sum[r][1]));  // else GCC copies each sum twice a step
      }
    }
#pragma GCC unroll 6
    for (size_t r = 0; r < rows; ++r) {
      float* at = values + r * 32;
      __m256 value[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
      if (!first) value[0] = _mm256_loadu_ps(at), value[1] = _mm256_loadu_ps(at + 8);
      add_term(value, {Sum::end(sum[r][0], y_sums[r]), Sum::end(sum[r][1], y_sums[r])}, scales);
      store_values(at, value);
    }
    first = false;
  }
}
template <class Sum, size_t rows>
void multiply_groups(const GroupedGemmArgs& a) {
  for (int panel = 0; panel < a.panels; ++panel) {
    size_t m = 0;
    for (; m + rows <= a.rows; m += rows) multiply_groups_of_rows<Sum, rows>(a, panel, m);
    for (; m + 2 <= a.rows; m += 2) multiply_groups_of_rows<Sum, 2>(a, panel, m);
    if (m < a.rows) multiply_groups_of_rows<Sum, 1>(a, panel, m);
  }
}

// The triples of one kind of 32 places of a block.
template <int kind>
inline __m256i triple(const uint8_t* place) {
  const auto line = [&](int i) { return load(place + kQuadBytes * i); };
  const auto bits = [](__m256i words, int mask) {
    return _mm256_and_si256(words, _mm256_set1_epi8(static_cast<char>(mask)));
  };
  if constexpr (kind < 5) {
    return bits(line(kind), 0x1F);
  } else if constexpr (kind < 7) {
    const __m256i lower = kind == 5 ? _mm256_srli_epi16(line(1), 5) : _mm256_srli_epi16(line(3), 6);
    return _mm256_or_si256(bits(_mm256_srli_epi16(line(kind == 5 ? 0 : 2), 3), 0x1C),
                           bits(lower, 0x03));
  } else {
    const __m256i lower = _mm256_or_si256(bits(_mm256_srli_epi16(line(3), 5), 0x01),
                                          bits(_mm256_srli_epi16(line(1), 6), 0x02));
    return _mm256_or_si256(bits(_mm256_srli_epi16(line(4), 3), 0x1C), lower);
  }
}

// A triple's digits as two-bit fields, lowest first, by look-ups of sixteen: indices that are not a
// table's have the top bit set, which gives zero.
struct TripleFields {
  alignas(32) uint8_t of[64] = {};
  constexpr TripleFields() {
    for (int t = 0; t < 32; ++t) {
      of[t / 16 * 32 + t % 16] = of[t / 16 * 32 + 16 + t % 16] =
          static_cast<uint8_t>(t / 9 % 3 | t / 3 % 3 << 2 | t % 3 << 4);
    }
  }
};
constexpr TripleFields kTripleFields;

inline __m256i fields_of(__m256i triples) {
  const __m256i below =
      _mm256_shuffle_epi8(load(kTripleFields.of), _mm256_add_epi8(triples, _mm256_set1_epi8(0x70)));
  const __m256i above = _mm256_shuffle_epi8(load(kTripleFields.of + 32),
                                            _mm256_sub_epi8(triples, _mm256_set1_epi8(16)));
  return _mm256_or_si256(below, above);
}

// Field f of 32 places, in the lowest two bits.
template <int f>
inline __m256i two_bit_field(__m256i w) {
  return _mm256_and_si256(_mm256_srli_epi16(w, 2 * f), _mm256_set1_epi8(3));
}

inline void unpack_two_bit(const uint8_t* packed, size_t blocks, uint8_t* quads) {
  for (size_t b = 0; b < blocks; ++b, packed += kQuadBytes, quads += 4 * kQuadBytes) {
    for (int half = 0; half < kQuadBytes; half += 32) {
      const __m256i w = load(packed + half);
      store(quads + half, two_bit_field<0>(w));
      store(quads + kQuadBytes + half, two_bit_field<1>(w));
      store(quads + 2 * kQuadBytes + half, two_bit_field<2>(w));
      store(quads + 3 * kQuadBytes + half, two_bit_field<3>(w));
    }
  }
}

inline void unpack_three_trits(const uint8_t* packed, size_t blocks, uint8_t* quads) {
  for (size_t b = 0; b < blocks; ++b, packed += kBlockBytes[1], quads += 24 * kQuadBytes) {
    for (int half = 0; half < kQuadBytes; half += 32) {
      for_each_triple([&]<int kind>() {
        const __m256i fields = fields_of(triple<kind>(packed + half));
        uint8_t* out = quads + 3 * kind * kQuadBytes + half;
        store(out, two_bit_field<0>(fields));
        store(out + kQuadBytes, two_bit_field<1>(fields));
        store(out + 2 * kQuadBytes, two_bit_field<2>(fields));
      });
    }
  }
}

}  // namespace
}  // namespace gpuready::ternary::kernels
