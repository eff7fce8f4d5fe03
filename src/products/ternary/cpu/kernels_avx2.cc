// The AVX2 tier. Sums of products of bytes are kept in 16 bits for as long as they surely fit (each
// limit is derived where it stands), then widened.
#include "ternary/cpu/kernels_avx2_common.h"
#include "ternary/cpu/kernels_common.h"

namespace gpuready::ternary::kernels {
namespace {

// Bytes that are asked for ahead.
constexpr size_t kAhead = 4096;

inline __m256i widen(__m256i pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

// Two bits: fields are taken with one shift by four and two masks, so odd fields count four times.
// A product of one instruction is at most 2 * 2 * 128 = 512 (2048 for odd fields), and a block has
// two of each: eight blocks reach -32768 at the worst, which fits.
constexpr size_t kTwoBitBlocks = 8;

struct TwoBitSums {
  __m256i once, four_times;
};

inline void add_two_bit(__m256i w, const __m256i (&y)[4], TwoBitSums& sums) {
  const __m256i low = _mm256_set1_epi8(0x03), odd = _mm256_set1_epi8(0x0C);
  const __m256i high = _mm256_srli_epi16(w, 4);
  const __m256i p0 = _mm256_maddubs_epi16(_mm256_and_si256(w, low), y[0]);
  const __m256i p1 = _mm256_maddubs_epi16(_mm256_and_si256(w, odd), y[1]);
  const __m256i p2 = _mm256_maddubs_epi16(_mm256_and_si256(high, low), y[2]);
  const __m256i p3 = _mm256_maddubs_epi16(_mm256_and_si256(high, odd), y[3]);
  sums.once = _mm256_add_epi16(sums.once, _mm256_add_epi16(p0, p2));
  sums.four_times = _mm256_add_epi16(sums.four_times, _mm256_add_epi16(p1, p3));
}

inline __m256i total(const TwoBitSums& sums) {
  return widen(_mm256_add_epi16(sums.once, _mm256_srai_epi16(sums.four_times, 2)));
}

// Of panels that are read side by side, a few blocks of each in turn. Either kind of scales:
// GemvArgs or GroupedGemvArgs.
template <int streams, class Args>
void gemv_two_bit_panels(const Args& a, size_t panel) {
  constexpr bool grouped = Args::kGrouped;
  const size_t panel_bytes = a.blocks * kQuadBytes;
  const uint8_t* first = a.packed + panel * panel_bytes;
  const int8_t* y = a.y;
  __m256i total_of[streams][2];
  __m256 values[streams][2];
  if constexpr (grouped) {
    for (auto& value : values) value[0] = value[1] = _mm256_setzero_ps();
  } else {
    for (auto& sums : total_of) sums[0] = sums[1] = _mm256_set1_epi32(-a.y_sum);
  }
  size_t group = 0, ahead_scales = 0;
  if constexpr (grouped) ahead_scales = scales_ahead(a.reading.ahead_bytes, a.group_blocks);
  for (size_t left = a.blocks; left > 0; ++group) {
    size_t of_group = left;
    if constexpr (grouped) {
      of_group = left < a.group_blocks ? left : a.group_blocks;
      for (auto& sums : total_of) sums[0] = sums[1] = _mm256_set1_epi32(-a.y_sums[group]);
    }
    while (of_group > 0) {
      const size_t now = of_group < kTwoBitBlocks ? of_group : kTwoBitBlocks;
      // Behind a panel's end are the panels that come after these.
      const size_t ahead =
          a.reading.ahead_bytes +
          (left * kQuadBytes > a.reading.ahead_bytes ? 0 : (streams - 1) * panel_bytes);
      for (size_t s = 0; s < streams; ++s) {
        const uint8_t* w = first + s * panel_bytes;
        TwoBitSums s0{_mm256_setzero_si256(), _mm256_setzero_si256()}, s1 = s0;
        for (size_t b = 0; b < now; ++b, w += kQuadBytes) {
          _mm_prefetch(reinterpret_cast<const char*>(w) + ahead, _MM_HINT_T0);
          const int8_t* at = y + 16 * b;
          const __m256i quads[4] = {broadcast(at), broadcast(at + 4), broadcast(at + 8),
                                    broadcast(at + 12)};
          add_two_bit(load(w), quads, s0);
          add_two_bit(load(w + 32), quads, s1);
        }
        total_of[s][0] = _mm256_add_epi32(total_of[s][0], total(s0));
        total_of[s][1] = _mm256_add_epi32(total_of[s][1], total(s1));
      }
      first += now * kQuadBytes;
      y += 16 * now;
      of_group -= now;
      left -= now;
    }
    if constexpr (grouped) {
      for (size_t s = 0; s < streams; ++s) {
        const float* scales = a.scales + ((panel + s) * a.groups + group) * kPanelRows;
        _mm_prefetch(reinterpret_cast<const char*>(scales + ahead_scales), _MM_HINT_T0);
        add_term(values[s], total_of[s], scales);
      }
    }
  }
  for (size_t s = 0; s < streams; ++s) {
    if constexpr (grouped) {
      store_values(a.out + (panel + s) * kPanelRows, values[s]);
    } else {
      store(a.out + (panel + s) * kPanelRows, total_of[s][0]);
      store(a.out + (panel + s) * kPanelRows + 8, total_of[s][1]);
    }
  }
}

template <class Args>
void gemv_two_bit(const Args& a) {
  by_streams(a.reading, a.panels,
             [&]<int streams>(size_t panel) { gemv_two_bit_panels<streams>(a, panel); });
}

// Three trits: digits are fields too; the middle one counts four times. A block has eight
// triples: two blocks reach -32768 at the worst, which fits.
constexpr size_t kThreeTritBlocks = 2;

inline void add_triple(__m256i fields, const __m256i (&y)[3], TwoBitSums& sums) {
  const __m256i odd = _mm256_set1_epi8(0x0C);
  const __m256i p0 = _mm256_maddubs_epi16(_mm256_and_si256(fields, _mm256_set1_epi8(3)), y[0]);
  const __m256i p1 = _mm256_maddubs_epi16(_mm256_and_si256(fields, odd), y[1]);
  const __m256i p2 = _mm256_maddubs_epi16(two_bit_field<2>(fields), y[2]);
  sums.once = _mm256_add_epi16(sums.once, _mm256_add_epi16(p0, p2));
  sums.four_times = _mm256_add_epi16(sums.four_times, p1);
}

void gemv_three_trits(const GemvArgs& a) {
  const uint8_t* w = a.packed;
  for (size_t panel = 0; panel < a.panels; ++panel) {
    const int8_t* y = a.y;
    __m256i sum0 = _mm256_set1_epi32(-a.y_sum), sum1 = sum0;
    for (size_t left = a.blocks; left > 0;) {
      const size_t now = left < kThreeTritBlocks ? left : kThreeTritBlocks;
      TwoBitSums s0{_mm256_setzero_si256(), _mm256_setzero_si256()}, s1 = s0;
      for (size_t b = 0; b < now; ++b, w += kBlockBytes[1], y += kBlockCols[1]) {
        for_each_triple([&]<int kind>() {
          if (kind < 5) {
            _mm_prefetch(reinterpret_cast<const char*>(w) + kQuadBytes * kind + kAhead,
                         _MM_HINT_T0);
          }
          const int8_t* at = y + 12 * kind;
          const __m256i quads[3] = {broadcast(at), broadcast(at + 4), broadcast(at + 8)};
          add_triple(fields_of(triple<kind>(w)), quads, s0);
          add_triple(fields_of(triple<kind>(w + 32)), quads, s1);
        });
      }
      sum0 = _mm256_add_epi32(sum0, total(s0));
      sum1 = _mm256_add_epi32(sum1, total(s1));
      left -= now;
    }
    store(a.out + panel * kPanelRows, sum0);
    store(a.out + panel * kPanelRows + 8, sum1);
  }
}

// A product of codes is at most 512: 64 quads reach -32768 at the worst, which fits.
constexpr size_t kGemmQuads = 64;

// `rows` activation rows times one panel.
template <int rows>
void multiply_rows(const uint8_t* quads, size_t quad_count, const int8_t* y, size_t y_stride,
                   int32_t* sums, bool first) {
  if (first) {
    for (int m = 0; m < rows; ++m) {
      store(sums + m * 32, _mm256_setzero_si256());
      store(sums + m * 32 + 8, _mm256_setzero_si256());
    }
  }
  for (size_t left = quad_count; left > 0;) {
    const size_t now = left < kGemmQuads ? left : kGemmQuads;
    __m256i sum[rows][2];
#pragma GCC unroll 4
    for (int m = 0; m < rows; ++m) sum[m][0] = sum[m][1] = _mm256_setzero_si256();
    for (size_t q = 0; q < now; ++q, quads += kQuadBytes, y += 4) {
      const __m256i w0 = load(quads), w1 = load(quads + 32);
#pragma GCC unroll 4
      for (int m = 0; m < rows; ++m) {
        const __m256i quad = broadcast(y + static_cast<size_t>(m) * y_stride);
        sum[m][0] = _mm256_add_epi16(sum[m][0], _mm256_maddubs_epi16(w0, quad));
        sum[m][1] = _mm256_add_epi16(sum[m][1], _mm256_maddubs_epi16(w1, quad));
      }
    }
#pragma GCC unroll 4
    for (int m = 0; m < rows; ++m) {
      int32_t* out = sums + m * 32;
      store(out, _mm256_add_epi32(load(out), widen(sum[m][0])));
      store(out + 8, _mm256_add_epi32(load(out + 8), widen(sum[m][1])));
    }
    left -= now;
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
    while (m + 4 <= a.rows) at(multiply_rows<4>, 4);
    if (m + 2 <= a.rows) at(multiply_rows<2>, 2);
    if (m < a.rows) at(multiply_rows<1>, 1);
  }
}

// In 16 bits: the greatest group has kGemmQuads.
struct GroupSum {
  static __m256i begin(int32_t) { return _mm256_setzero_si256(); }
  static __m256i add(__m256i sum, __m256i w, __m256i y) {
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, y));
  }
  static __m256i end(__m256i sum, int32_t y_sum) {
    return _mm256_sub_epi32(widen(sum), _mm256_set1_epi32(y_sum));
  }
};

}  // namespace

const Table kAvx2{{gemv_two_bit, gemv_three_trits},
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
                  &kAvx2Lookup,
                  multiply_groups<GroupSum, 4>};

}  // namespace gpuready::ternary::kernels
