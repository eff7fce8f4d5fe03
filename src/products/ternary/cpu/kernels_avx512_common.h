// What the files of the AVX-512 tier share, compiled again by each for its own instructions.
// Everything is in an unnamed namespace for that reason.
#pragma once

#include <immintrin.h>

#include "ternary/cpu/kernels_triples.h"

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
inline void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

inline __m512i line(const uint8_t* block, int i) { return load(block + kQuadBytes * i); }
// In each byte the bits of `first` where `mask` has ones, and those of `second` elsewhere.
inline __m512i select(__m512i first, __m512i second, int mask) {
  constexpr int kThirdChooses = 0xE4;
  return _mm512_ternarylogic_epi32(first, second, _mm512_set1_epi8(static_cast<char>(mask)),
                                   kThirdChooses);
}

// `Digits` has the three digits of a block's triples. Digit f is in units of 2^(f kShift), so each
// has a sum of its own: at most 16 * 8 * 2 * 512 a block. What it joins of a block's lines it keeps
// in `Joined` for that block's later triples.
template <class Digits, int streams>
void gemv_three_trits_panels(const GemvArgs& a, const Digits& digits, size_t panel) {
  constexpr size_t kBlocks = 8192, kBytes = kBlockBytes[1];
  const size_t panel_bytes = a.blocks * kBytes;
  const uint8_t* w = a.packed + panel * panel_bytes;
  const int8_t* y = a.y;
  __m512i total[streams];
  for (__m512i& sum : total) sum = _mm512_set1_epi32(-a.y_sum);
  for (size_t left = a.blocks; left > 0;) {
    const size_t now = left < kBlocks ? left : kBlocks;
    __m512i sum[streams][3];
    for (auto& stream : sum) {
      for (__m512i& digit : stream) digit = _mm512_setzero_si512();
    }
    for (size_t b = 0; b < now; ++b, w += kBytes, y += kBlockCols[1]) {
      // Behind a panel's end are the panels that come after these.
      const size_t ahead =
          a.reading.ahead_bytes +
          ((left - b) * kBytes > a.reading.ahead_bytes ? 0 : (streams - 1) * panel_bytes);
      typename Digits::Joined joined[streams];
      for_each_triple([&]<int kind>() {
        const int8_t* at = y + 12 * kind;
        const __m512i quads[3] = {broadcast(at), broadcast(at + 4), broadcast(at + 8)};
#pragma GCC unroll 8
        for (size_t s = 0; s < streams; ++s) {
          const uint8_t* block = w + s * panel_bytes;
          if (kind < 5) prefetch(block + kQuadBytes * kind + ahead);
          __m512i digit[3];
          digits.template of<kind>(block, joined[s], digit);
          for (int f = 0; f < 3; ++f) sum[s][f] = dot(sum[s][f], digit[f], quads[f]);
        }
      });
    }
    for (int s = 0; s < streams; ++s) {
      for (unsigned f = 0; f < 3; ++f) {
        total[s] = add(total[s], _mm512_srai_epi32(sum[s][f], f * Digits::kShift));
      }
    }
    left -= now;
  }
  for (size_t s = 0; s < streams; ++s) store(a.out + (panel + s) * kPanelRows, total[s]);
}

template <class Digits>
void gemv_three_trits_with(const GemvArgs& a) {
  const Digits digits;
  by_streams(a.reading, a.panels, [&]<int streams>(size_t panel) {
    gemv_three_trits_panels<Digits, streams>(a, digits, panel);
  });
}

}  // namespace
}  // namespace gpuready::ternary::kernels
