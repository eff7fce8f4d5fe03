// The AVX-512 VNNI tier: a packed block, and a quad row, is one register.
#include "ternary/cpu/kernels_avx512_common.h"
#include "ternary/cpu/kernels_common.h"

namespace gpuready::ternary::kernels {
namespace {

// No field is shifted: field f counts 4^f times and has its own sum, at most 64 * 2 * 128 * 4 a
// block. 16384 blocks would reach 2^30.
constexpr size_t kTwoBitBlocks = 16384;

// Either kind of scales: GemvArgs or GroupedGemvArgs.
template <int streams, class Args>
void gemv_two_bit_panels(const Args& a, size_t panel) {
  constexpr bool grouped = Args::kGrouped;
  const __m512i masks[4] = {_mm512_set1_epi8(0x03), _mm512_set1_epi8(0x0C), _mm512_set1_epi8(0x30),
                            _mm512_set1_epi8(static_cast<char>(0xC0))};
  const size_t panel_bytes = a.blocks * kQuadBytes;
  const uint8_t* w = a.packed + panel * panel_bytes;
  const int8_t* y = a.y;
  __m512i total[streams];
  __m512 values[streams];
  if constexpr (!grouped) {
    for (__m512i& sum : total) sum = _mm512_set1_epi32(-a.y_sum);
  } else {
    for (__m512& value : values) value = _mm512_setzero_ps();
  }
  size_t group = 0, ahead_scales = 0;
  if constexpr (grouped) ahead_scales = scales_ahead(a.reading.ahead_bytes, a.group_blocks);
  for (size_t left = a.blocks; left > 0; ++group) {
    size_t most = kTwoBitBlocks;
    if constexpr (grouped) {
      most = a.group_blocks;
      for (__m512i& sum : total) sum = _mm512_set1_epi32(-a.y_sums[group]);
    }
    const size_t now = left < most ? left : most;
    __m512i sum[streams][4];
    for (auto& stream : sum) {
      for (__m512i& field : stream) field = _mm512_setzero_si512();
    }
    for (size_t b = 0; b < now; ++b, w += kQuadBytes, y += 16) {
      // Behind a panel's end are the panels that come after these.
      const size_t ahead =
          a.reading.ahead_bytes +
          ((left - b) * kQuadBytes > a.reading.ahead_bytes ? 0 : (streams - 1) * panel_bytes);
      const __m512i quads[4] = {broadcast(y), broadcast(y + 4), broadcast(y + 8),
                                broadcast(y + 12)};
#pragma GCC unroll 4
      for (size_t s = 0; s < streams; ++s) {
        const uint8_t* at = w + s * panel_bytes;
        prefetch(at + ahead);
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
    if constexpr (grouped) {
      for (size_t s = 0; s < streams; ++s) {
        const float* of_group = a.scales + ((panel + s) * a.groups + group) * kPanelRows;
        prefetch(of_group + ahead_scales);
        const __m512 scales = _mm512_loadu_ps(of_group);
        values[s] = _mm512_add_ps(values[s], _mm512_mul_ps(_mm512_cvtepi32_ps(total[s]), scales));
      }
    }
  }
  for (size_t s = 0; s < streams; ++s) {
    if constexpr (grouped) {
      _mm512_storeu_ps(a.out + (panel + s) * kPanelRows, values[s]);
    } else {
      store(a.out + (panel + s) * kPanelRows, total[s]);
    }
  }
}

template <class Args>
void gemv_two_bit(const Args& a) {
  by_streams(a.reading, a.panels,
             [&]<int streams>(size_t panel) { gemv_two_bit_panels<streams>(a, panel); });
}

// The triples of one kind of a block, in the lowest five bits of each byte; those above are
// anything. Words are shifted; the masks take no bit that came from another byte.
template <int kind>
inline __m512i triples_of(const uint8_t* block) {
  if constexpr (kind < 5) {
    return line(block, kind);
  } else if constexpr (kind == 5) {
    return select(_mm512_srli_epi16(line(block, 1), 5), _mm512_srli_epi16(line(block, 0), 3), 3);
  } else if constexpr (kind == 6) {
    return select(_mm512_srli_epi16(line(block, 3), 6), _mm512_srli_epi16(line(block, 2), 3), 3);
  } else {
    const __m512i upper =
        select(_mm512_srli_epi16(line(block, 1), 6), _mm512_srli_epi16(line(block, 4), 3), 2);
    return select(_mm512_srli_epi16(line(block, 3), 5), upper, 1);
  }
}

// A permutation of words sees a triple in the word's lowest five bits: one for the even bytes, one
// for the odd. They give the three digits as two-bit fields, which are masked and not shifted.
struct Tables {
  alignas(64) uint16_t even[32] = {}, odd[32] = {};
  constexpr Tables() {
    for (unsigned t = 0; t < 27; ++t) {
      even[t] = static_cast<uint16_t>(t / 9 | t / 3 % 3 << 2 | t % 3 << 4);
      odd[t] = static_cast<uint16_t>(even[t] << 8);
    }
  }
};
constexpr Tables kTables;

struct Digits {
  static constexpr unsigned kShift = 2;
  struct Joined {};
  __m512i even = load(kTables.even), odd = load(kTables.odd);
  __m512i masks[3] = {_mm512_set1_epi8(0x03), _mm512_set1_epi8(0x0C), _mm512_set1_epi8(0x30)};

  template <int kind>
  void of(const uint8_t* block, Joined&, __m512i (&digit)[3]) const {
    constexpr int kEitherAndMasked = 0xA8;  // (first | second) & third
    const __m512i triples = triples_of<kind>(block);
    const __m512i low = _mm512_permutexvar_epi16(triples, even);
    const __m512i high = _mm512_permutexvar_epi16(_mm512_srli_epi16(triples, 8), odd);
    for (int f = 0; f < 3; ++f) {
      digit[f] = _mm512_ternarylogic_epi32(low, high, masks[f], kEitherAndMasked);
    }
  }
};

void gemv_three_trits(const GemvArgs& a) { gemv_three_trits_with<Digits>(a); }

void unpack_two_bit(const uint8_t* packed, size_t blocks, uint8_t* quads) {
  const __m512i low = _mm512_set1_epi8(3);
  for (size_t b = 0; b < blocks; ++b, packed += kQuadBytes, quads += 4 * kQuadBytes) {
    const __m512i w = load(packed);
    store(quads, _mm512_and_si512(w, low));
    store(quads + 64, _mm512_and_si512(_mm512_srli_epi16(w, 2), low));
    store(quads + 128, _mm512_and_si512(_mm512_srli_epi16(w, 4), low));
    store(quads + 192, _mm512_and_si512(_mm512_srli_epi16(w, 6), low));
  }
}

void unpack_three_trits(const uint8_t* packed, size_t blocks, uint8_t* quads) {
  const Digits digits;
  for (size_t b = 0; b < blocks; ++b, packed += kBlockBytes[1], quads += 24 * kQuadBytes) {
    for_each_triple([&]<int kind>() {
      Digits::Joined joined;
      __m512i digit[3];
      digits.of<kind>(packed, joined, digit);
      uint8_t* out = quads + 3 * kind * kQuadBytes;
      store(out, digit[0]);
      store(out + kQuadBytes, _mm512_srli_epi16(digit[1], 2));
      store(out + 2 * kQuadBytes, _mm512_srli_epi16(digit[2], 4));
    });
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
    for (int p = 0; p < panels; ++p) w[p] = load(quads[p] + q * kQuadBytes);
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

template <size_t rows, size_t panels>
void multiply_groups_of_rows(const GroupedGemmArgs& a, size_t m) {
  const int8_t* y = a.y + m * a.y_stride;
  const int32_t* y_sums = a.y_sums + m;
  size_t quad = 0;
  for (size_t group = 0; quad < a.quad_count; ++group, y_sums += a.y_sums_stride) {
    __m512i sum[rows][panels];
    for (size_t r = 0; r < rows; ++r) {
      for (size_t p = 0; p < panels; ++p) sum[r][p] = _mm512_set1_epi32(-y_sums[r]);
    }
    const size_t left = a.quad_count - quad;
    const size_t end = quad + (left < a.group_quads ? left : a.group_quads);
    for (; quad < end; ++quad, y += 4) {
      __m512i w[panels];
      for (size_t p = 0; p < panels; ++p) w[p] = load(a.quads[p] + quad * kQuadBytes);
#pragma GCC unroll 12
      for (size_t r = 0; r < rows; ++r) {
        const __m512i four = broadcast(y + r * a.y_stride);
        for (size_t p = 0; p < panels; ++p) {
          sum[r][p] = dot(sum[r][p], w[p], four);
          asm("" : "+v"(sum[r][p]));  // else GCC copies each sum twice a step
        }
      }
    }
    const bool first = a.first && group == 0;
    for (size_t p = 0; p < panels; ++p) {
      const __m512 scales = _mm512_loadu_ps(a.scales[p] + group * kPanelRows);
      float* values = a.values + m * 32 + p * kPanelRows;
#pragma GCC unroll 12
      for (size_t r = 0; r < rows; ++r, values += 32) {
        const __m512 before = first ? _mm512_setzero_ps() : _mm512_loadu_ps(values);
        const __m512 term = _mm512_mul_ps(_mm512_cvtepi32_ps(sum[r][p]), scales);
        _mm512_storeu_ps(values, _mm512_add_ps(before, term));
      }
    }
  }
}

template <size_t panels>
void gemm_groups_of_panels(const GroupedGemmArgs& a) {
  size_t m = 0;
  for (; m + 12 <= a.rows; m += 12) multiply_groups_of_rows<12, panels>(a, m);
  for (; m + 4 <= a.rows; m += 4) multiply_groups_of_rows<4, panels>(a, m);
  for (; m < a.rows; ++m) multiply_groups_of_rows<1, panels>(a, m);
}

void gemm_groups(const GroupedGemmArgs& a) {
  a.panels == 2 ? gemm_groups_of_panels<2>(a) : gemm_groups_of_panels<1>(a);
}

}  // namespace

const Table kAvx512{{gemv_two_bit, gemv_three_trits},
                    {unpack_two_bit, unpack_three_trits},
                    gemm,
                    finish_rows,
                    greatest_magnitude,
                    quantise_row,
                    gemv_two_bit,
                    add_group_terms,
                    scale_values,
                    sum_codes,
                    store_values,
                    nullptr,
                    gemm_groups};

}  // namespace gpuready::ternary::kernels
