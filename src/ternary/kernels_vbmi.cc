// Three trits with AVX-512 VBMI, whose permutation of bytes looks up a digit of a triple at once.
// It sees six bits of an index, of which the highest does not count.
#include "ternary/kernels_avx512_common.h"

namespace gpuready::ternary::kernels {
namespace {

struct Tables {
  alignas(64) uint8_t digits[3][64] = {};
  constexpr Tables() {
    for (int i = 0; i < 64; ++i) {
      const int triple = i & 31;
      digits[0][i] = static_cast<uint8_t>(triple / 9);
      digits[1][i] = static_cast<uint8_t>(triple / 3 % 3);
      digits[2][i] = static_cast<uint8_t>(triple % 3);
    }
  }
};
constexpr Tables kTables;

struct Digits {
  static constexpr unsigned kShift = 0;
  __m512i table[3] = {load(kTables.digits[0]), load(kTables.digits[1]), load(kTables.digits[2])};
  void of(__m512i triples, __m512i (&digit)[3]) const {
    for (int f = 0; f < 3; ++f) digit[f] = _mm512_permutexvar_epi8(triples, table[f]);
  }
};

}  // namespace

void vbmi_gemv_three_trits(const GemvArgs& a) { gemv_three_trits_with<Digits>(a); }

}  // namespace gpuready::ternary::kernels
