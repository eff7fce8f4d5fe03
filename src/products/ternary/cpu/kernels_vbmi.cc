// Three trits with AVX-512 VBMI, whose permutation of bytes looks up one digit of 64 triples. It
// sees six bits of an index: one of them does not count, and which depends on how a triple is
// joined.
#include "ternary/cpu/kernels_avx512_common.h"

namespace gpuready::ternary::kernels {
namespace {

// By the bit that does not count.
struct Tables {
  alignas(64) uint8_t digits[6][3][64] = {};
  constexpr Tables() {
    for (int bit = 0; bit < 6; ++bit) {
      for (int i = 0; i < 64; ++i) {
        const int triple = (i >> (bit + 1)) << bit | (i & ((1 << bit) - 1));
        digits[bit][0][i] = static_cast<uint8_t>(triple / 9);
        digits[bit][1][i] = static_cast<uint8_t>(triple / 3 % 3);
        digits[bit][2][i] = static_cast<uint8_t>(triple % 3);
      }
    }
  }
};
constexpr Tables kTables;

struct Look {
  __m512i table[3];
  explicit Look(int bit) {
    for (int f = 0; f < 3; ++f) table[f] = load(kTables.digits[bit][f]);
  }
  void up(__m512i index, __m512i (&digit)[3]) const {
    for (int f = 0; f < 3; ++f) digit[f] = _mm512_permutexvar_epi8(index, table[f]);
  }
};

struct Digits {
  static constexpr unsigned kShift = 0;
  // The upper bits of two lines: two triples each have some of them.
  struct Joined {
    __m512i line1, line3;
  };
  Look at_first{5}, at_5{2}, at_6{0}, at_7{1};

  template <int kind>
  void of(const uint8_t* block, Joined& joined, __m512i (&digit)[3]) const {
    if constexpr (kind < 5) {
      at_first.up(line(block, kind), digit);
    } else if constexpr (kind == 5) {
      joined.line1 = _mm512_srli_epi16(line(block, 1), 5);
      at_5.up(select(joined.line1, _mm512_srli_epi16(line(block, 0), 2), 7), digit);
    } else if constexpr (kind == 6) {
      joined.line3 = _mm512_srli_epi16(line(block, 3), 5);
      at_6.up(select(joined.line3, _mm512_srli_epi16(line(block, 2), 2), 7), digit);
    } else {
      const __m512i lower = select(joined.line1, joined.line3, 4);
      at_7.up(select(lower, _mm512_srli_epi16(line(block, 4), 2), 7), digit);
    }
  }
};

}  // namespace

void vbmi_gemv_three_trits(const GemvArgs& a) { gemv_three_trits_with<Digits>(a); }

}  // namespace gpuready::ternary::kernels
