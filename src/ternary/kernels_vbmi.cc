// Five trits with AVX-512 VBMI, whose permutations look up all 256 values of a byte: fewer
// instructions than forming products with the byte's multiples (kernels_avx512.cc).
#include <immintrin.h>

#include "ternary/kernels.h"

namespace gpuready::ternary::kernels {
namespace {

inline __m512i load(const void* p) { return _mm512_loadu_si512(p); }
inline __m512i broadcast(const int8_t* y) {
  int32_t quad;
  __builtin_memcpy(&quad, y, 4);
  return _mm512_set1_epi32(quad);
}
inline __m512i dot(__m512i sum, __m512i w, __m512i y) { return _mm512_dpbusd_epi32(sum, w, y); }
inline __m512i add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }

// Bytes that are asked for ahead: far ones into the second cache, which can wait for more of them.
constexpr size_t kFarAhead = 8192, kNearAhead = 1024;

// A byte's first four digits as two-bit fields, lowest first, and its last digit. A permutation
// has 128 entries: the upper half of a table holds what changes where the byte's top bit is set.
struct Tables {
  alignas(64) uint8_t fields[256] = {}, last[256] = {};
  constexpr Tables() {
    for (int value = 0; value < 243; ++value) {
      const int byte = (value * 256 + 242) / 243;
      fields[byte] = static_cast<uint8_t>(value / 81 | value / 27 % 3 << 2 | value / 9 % 3 << 4 |
                                          value / 3 % 3 << 6);
      last[byte] = static_cast<uint8_t>(value % 3);
    }
    for (int i = 0; i < 128; ++i) {
      fields[128 + i] ^= fields[i];
      last[128 + i] ^= last[i];
    }
  }
};
constexpr Tables kTables;

struct Table256 {
  __m512i part[4];
  explicit Table256(const uint8_t* bytes) {
    for (int i = 0; i < 4; ++i) part[i] = load(bytes + 64 * i);
  }
  __m512i low(__m512i index) const { return _mm512_permutex2var_epi8(part[0], index, part[1]); }
  __m512i change(__m512i index, __mmask64 top) const {
    return _mm512_maskz_permutex2var_epi8(top, part[2], index, part[3]);
  }
};

// Fields are never shifted: field f counts 4^f times, as in kernels_avx512.cc with its bound.
constexpr size_t kBlocks = 16384;

void gemv(const GemvArgs& a) {
  constexpr int kChangedAndMasked = 0x28;  // (first ^ second) & third
  const __m512i masks[4] = {_mm512_set1_epi8(0x03), _mm512_set1_epi8(0x0C), _mm512_set1_epi8(0x30),
                            _mm512_set1_epi8(static_cast<char>(0xC0))};
  const Table256 fields(kTables.fields), last(kTables.last);
  for (size_t panel = 0; panel < a.panels; ++panel) {
    const uint8_t* w = a.packed + panel * a.blocks * kBlockBytes;
    const int8_t* y = a.y;
    __m512i total = _mm512_set1_epi32(-a.y_sum);
    for (size_t left = a.blocks; left > 0;) {
      const size_t now = left < kBlocks ? left : kBlocks;
      __m512i sum[4], sum_of_last = _mm512_setzero_si512();
      for (__m512i& field : sum) field = _mm512_setzero_si512();
      for (size_t b = 0; b < now; ++b, w += kBlockBytes, y += 20) {
        _mm_prefetch(reinterpret_cast<const char*>(w) + kFarAhead, _MM_HINT_T1);
        _mm_prefetch(reinterpret_cast<const char*>(w) + kNearAhead, _MM_HINT_T0);
        const __m512i bytes = load(w);
        const __mmask64 top = _mm512_movepi8_mask(bytes);
        const __m512i low = fields.low(bytes), change = fields.change(bytes, top);
#pragma GCC unroll 4
        for (int f = 0; f < 4; ++f) {
          const __m512i field = _mm512_ternarylogic_epi32(low, change, masks[f], kChangedAndMasked);
          sum[f] = dot(sum[f], field, broadcast(y + 4 * f));
        }
        const __m512i digit = _mm512_xor_si512(last.low(bytes), last.change(bytes, top));
        sum_of_last = dot(sum_of_last, digit, broadcast(y + 16));
      }
      total = add(total, sum_of_last);
      for (int f = 0; f < 4; ++f) {
        total = add(total, _mm512_srai_epi32(sum[f], static_cast<unsigned>(2 * f)));
      }
      left -= now;
    }
    _mm512_storeu_si512(a.out + panel * kPanelRows, total);
  }
}

}  // namespace

void vbmi_gemv_five_trits(const GemvArgs& a) { gemv(a); }

}  // namespace gpuready::ternary::kernels
