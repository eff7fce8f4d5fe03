// The AVX-512 VNNI tier: a packed block, and a quad row, is one register.
#include <immintrin.h>

#include "ternary/kernels_common.h"

namespace gpuready::ternary::kernels {
namespace {

inline __m512i load(const void* p) { return _mm512_loadu_si512(p); }
inline void store(void* p, __m512i v) { _mm512_storeu_si512(p, v); }
inline __m512i broadcast(const int8_t* y) {
  int32_t quad;
  __builtin_memcpy(&quad, y, 4);
  return _mm512_set1_epi32(quad);
}
inline __m512i dot(__m512i sum, __m512i w, __m512i y) { return _mm512_dpbusd_epi32(sum, w, y); }
inline __m512i add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }

// No field is shifted: field f counts 4^f times and has its own sum, at most 64 * 2 * 128 * 4 a
// block. 16384 blocks would reach 2^30.
constexpr size_t kTwoBitBlocks = 16384;
// Panels that are read side by side: memory answers several streams faster than one, and their
// sums hide each other's latency. Blocks of each are asked for ahead.
constexpr int kStreams = 4;
constexpr size_t kBlocksAhead = 32;

template <int streams>
void gemv_two_bit_panels(const GemvArgs& a, size_t panel) {
  const __m512i masks[4] = {_mm512_set1_epi8(0x03), _mm512_set1_epi8(0x0C), _mm512_set1_epi8(0x30),
                            _mm512_set1_epi8(static_cast<char>(0xC0))};
  const size_t panel_bytes = a.blocks * kBlockBytes;
  const uint8_t* w = a.packed + panel * panel_bytes;
  const int8_t* y = a.y;
  __m512i total[streams];
  for (__m512i& sum : total) sum = _mm512_set1_epi32(-a.y_sum);
  for (size_t left = a.blocks; left > 0;) {
    const size_t now = left < kTwoBitBlocks ? left : kTwoBitBlocks;
    __m512i sum[streams][4];
    for (auto& stream : sum) {
      for (__m512i& field : stream) field = _mm512_setzero_si512();
    }
    for (size_t b = 0; b < now; ++b, w += kBlockBytes, y += 16) {
      // Behind a panel's end are the panels that come after these.
      const size_t ahead =
          kBlocksAhead * kBlockBytes + (left - b > kBlocksAhead ? 0 : (streams - 1) * panel_bytes);
      const __m512i quads[4] = {broadcast(y), broadcast(y + 4), broadcast(y + 8),
                                broadcast(y + 12)};
#pragma GCC unroll 4
      for (size_t s = 0; s < streams; ++s) {
        const uint8_t* at = w + s * panel_bytes;
        _mm_prefetch(reinterpret_cast<const char*>(at) + ahead, _MM_HINT_T0);
        const __m512i block = load(at);
#pragma GCC unroll 4
        for (int f = 0; f < 4; ++f) {
          sum[s][f] = dot(sum[s][f], _mm512_and_si512(block, masks[f]), quads[f]);
        }
      }
    }
    for (int s = 0; s < streams; ++s) {
      for (int f = 0; f < 4; ++f) {
        total[s] = add(total[s], _mm512_srai_epi32(sum[s][f], static_cast<unsigned>(2 * f)));
      }
    }
    left -= now;
  }
  for (size_t s = 0; s < streams; ++s) store(a.out + (panel + s) * kPanelRows, total[s]);
}

void gemv_two_bit(const GemvArgs& a) {
  size_t panel = 0;
  for (; panel + kStreams <= a.panels; panel += kStreams) gemv_two_bit_panels<kStreams>(a, panel);
  for (; panel + 2 <= a.panels; panel += 2) gemv_two_bit_panels<2>(a, panel);
  if (panel < a.panels) gemv_two_bit_panels<1>(a, panel);
}

// See kernels_avx_vnni.cc: the digits are never formed.
constexpr size_t kFiveTritBlocks = 1600;
// Bytes that are asked for ahead: far ones into the second cache, which can wait for more of them.
constexpr size_t kFarAhead = 8192, kNearAhead = 1024;

void gemv_five_trits(const GemvArgs& a) {
  for (size_t panel = 0; panel < a.panels; ++panel) {
    const uint8_t* w = a.packed + panel * a.blocks * kBlockBytes;
    const int8_t* y = a.y;
    __m512i total = _mm512_set1_epi32(-a.y_sum);
    for (size_t left = a.blocks; left > 0;) {
      const size_t now = left < kFiveTritBlocks ? left : kFiveTritBlocks;
      __m512i before[5], after[5];
      for (int f = 0; f < 5; ++f) before[f] = after[f] = _mm512_setzero_si512();
      for (size_t b = 0; b < now; ++b, w += kBlockBytes, y += 20) {
        _mm_prefetch(reinterpret_cast<const char*>(w) + kFarAhead, _MM_HINT_T1);
        _mm_prefetch(reinterpret_cast<const char*>(w) + kNearAhead, _MM_HINT_T0);
        __m512i r = load(w);
#pragma GCC unroll 5
        for (int f = 0; f < 5; ++f) {
          const __m512i quad = broadcast(y + 4 * f);
          before[f] = dot(before[f], r, quad);
          r = _mm512_add_epi8(r, _mm512_add_epi8(r, r));
          after[f] = dot(after[f], r, quad);
        }
      }
      __m512i once = before[0], rest = after[0];
      for (int f = 1; f < 5; ++f) once = add(once, before[f]), rest = add(rest, after[f]);
      const __m512i sum = _mm512_sub_epi32(add(once, add(once, once)), rest);
      total = add(total, _mm512_srai_epi32(sum, 8));
      left -= now;
    }
    store(a.out + panel * kPanelRows, total);
  }
}

void unpack_two_bit(const uint8_t* packed, size_t blocks, uint8_t* quads) {
  const __m512i low = _mm512_set1_epi8(3);
  for (size_t b = 0; b < blocks; ++b, packed += kBlockBytes, quads += 4 * kBlockBytes) {
    const __m512i w = load(packed);
    store(quads, _mm512_and_si512(w, low));
    store(quads + 64, _mm512_and_si512(_mm512_srli_epi16(w, 2), low));
    store(quads + 128, _mm512_and_si512(_mm512_srli_epi16(w, 4), low));
    store(quads + 192, _mm512_and_si512(_mm512_srli_epi16(w, 6), low));
  }
}

// The digit is the number of thresholds, 86 and 171, that the fraction has reached.
void unpack_five_trits(const uint8_t* packed, size_t blocks, uint8_t* quads) {
  const __m512i one = _mm512_set1_epi8(1), two = _mm512_set1_epi8(2);
  const __m512i first = _mm512_set1_epi8(86), second = _mm512_set1_epi8(static_cast<char>(171));
  for (size_t b = 0; b < blocks; ++b, packed += kBlockBytes, quads += 5 * kBlockBytes) {
    __m512i x = load(packed);
    for (int f = 0; f < 5; ++f) {
      const __m512i low = _mm512_maskz_mov_epi8(_mm512_cmpge_epu8_mask(x, first), one);
      store(quads + 64 * f, _mm512_mask_mov_epi8(low, _mm512_cmpge_epu8_mask(x, second), two));
      x = _mm512_add_epi8(x, _mm512_add_epi8(x, x));
    }
  }
}

template <int rows, int panels>
void multiply_rows(const uint8_t* const (&quads)[2], size_t quad_count, const int8_t* y,
                   size_t y_stride, int32_t* sums, bool first) {
  __m512i sum[rows][panels];
#pragma GCC unroll 12
  for (int m = 0; m < rows; ++m) {
    for (int p = 0; p < panels; ++p) {
      sum[m][p] = first ? _mm512_setzero_si512() : load(sums + m * 32 + p * kPanelRows);
    }
  }
  for (size_t q = 0; q < quad_count; ++q, y += 4) {
    __m512i w[panels];
    for (int p = 0; p < panels; ++p) w[p] = load(quads[p] + q * kBlockBytes);
#pragma GCC unroll 12
    for (int m = 0; m < rows; ++m) {
      const __m512i quad = broadcast(y + static_cast<size_t>(m) * y_stride);
      for (int p = 0; p < panels; ++p) sum[m][p] = dot(sum[m][p], w[p], quad);
    }
  }
#pragma GCC unroll 12
  for (int m = 0; m < rows; ++m) {
    for (int p = 0; p < panels; ++p) store(sums + m * 32 + p * kPanelRows, sum[m][p]);
  }
}

template <int panels>
void gemm_panels(const GemmArgs& a) {
  size_t m = 0;
  const auto at = [&](auto multiply, int rows) {
    multiply(a.quads, a.quad_count, a.y + m * a.y_stride, a.y_stride, a.sums + m * 32, a.first);
    m += static_cast<size_t>(rows);
  };
  while (m + 12 <= a.rows) at(multiply_rows<12, panels>, 12);
  while (m + 4 <= a.rows) at(multiply_rows<4, panels>, 4);
  while (m < a.rows) at(multiply_rows<1, panels>, 1);
}

void gemm(const GemmArgs& a) { a.panels == 2 ? gemm_panels<2>(a) : gemm_panels<1>(a); }

}  // namespace

const Table kAvx512{{gemv_two_bit, gemv_five_trits},
                    {unpack_two_bit, unpack_five_trits},
                    gemm,
                    finish_rows,
                    quantise_row};

}  // namespace gpuready::ternary::kernels
