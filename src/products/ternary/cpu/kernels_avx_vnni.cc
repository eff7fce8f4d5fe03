// The AVX-VNNI tier: 256-bit dot products that add into 32 bits, so nothing overflows early.
#include "ternary/cpu/kernels_avx2_common.h"
#include "ternary/cpu/kernels_common.h"

namespace gpuready::ternary::kernels {
namespace {

// Bytes that are asked for ahead.
constexpr size_t kAhead = 4096;

inline __m256i dot(__m256i sum, __m256i w, __m256i y) { return _mm256_dpbusd_avx_epi32(sum, w, y); }
inline __m256i add(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }

// No field is shifted: field f counts 4^f times and has its own sum, at most 64 * 2 * 128 * 4 a
// block. 16384 blocks would reach 2^30.
constexpr size_t kTwoBitBlocks = 16384;

// Either kind of scales: GemvArgs or GroupedGemvArgs.
template <class Args>
void gemv_two_bit(const Args& a) {
  constexpr bool grouped = Args::kGrouped;
  size_t ahead_scales = 0;
  if constexpr (grouped) ahead_scales = scales_ahead(kAhead, a.group_blocks);
  const __m256i masks[4] = {_mm256_set1_epi8(0x03), _mm256_set1_epi8(0x0C), _mm256_set1_epi8(0x30),
                            _mm256_set1_epi8(static_cast<char>(0xC0))};
  for (size_t panel = 0; panel < a.panels; ++panel) {
    const uint8_t* w = a.packed + panel * a.blocks * kQuadBytes;
    const int8_t* y = a.y;
    __m256i total[2];
    __m256 values[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    if constexpr (!grouped) total[0] = total[1] = _mm256_set1_epi32(-a.y_sum);
    size_t group = 0;
    for (size_t left = a.blocks; left > 0; ++group) {
      size_t most = kTwoBitBlocks;
      if constexpr (grouped) {
        most = a.group_blocks;
        total[0] = total[1] = _mm256_set1_epi32(-a.y_sums[group]);
      }
      const size_t now = left < most ? left : most;
      __m256i sum[2][4];
      for (auto& half : sum) {
        for (__m256i& field : half) field = _mm256_setzero_si256();
      }
      for (size_t b = 0; b < now; ++b, w += kQuadBytes, y += 16) {
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
      if constexpr (grouped) {
        const float* scales = a.scales + (panel * a.groups + group) * kPanelRows;
        _mm_prefetch(reinterpret_cast<const char*>(scales + ahead_scales), _MM_HINT_T0);
        add_term(values, total, scales);
      }
    }
    if constexpr (grouped) {
      store_values(a.out + panel * kPanelRows, values);
    } else {
      store(a.out + panel * kPanelRows, total[0]);
      store(a.out + panel * kPanelRows + 8, total[1]);
    }
  }
}

// Digits are fields too: at most 16 * 8 * 2 * 512 a block.
constexpr size_t kThreeTritBlocks = 8192;

void gemv_three_trits(const GemvArgs& a) {
  const __m256i masks[3] = {_mm256_set1_epi8(0x03), _mm256_set1_epi8(0x0C), _mm256_set1_epi8(0x30)};
  const uint8_t* w = a.packed;
  for (size_t panel = 0; panel < a.panels; ++panel) {
    const int8_t* y = a.y;
    __m256i total[2] = {_mm256_set1_epi32(-a.y_sum), _mm256_set1_epi32(-a.y_sum)};
    for (size_t left = a.blocks; left > 0;) {
      const size_t now = left < kThreeTritBlocks ? left : kThreeTritBlocks;
      __m256i sum[2][3];
      for (auto& half : sum) {
        for (__m256i& field : half) field = _mm256_setzero_si256();
      }
      for (size_t b = 0; b < now; ++b, w += kBlockBytes[1], y += kBlockCols[1]) {
        for_each_triple([&]<int kind>() {
          if (kind < 5) {
            _mm_prefetch(reinterpret_cast<const char*>(w) + kQuadBytes * kind + kAhead,
                         _MM_HINT_T0);
          }
          const int8_t* at = y + 12 * kind;
          const __m256i quads[3] = {broadcast(at), broadcast(at + 4), broadcast(at + 8)};
#pragma GCC unroll 2
          for (int h = 0; h < 2; ++h) {
            const __m256i fields = fields_of(triple<kind>(w + 32 * h));
#pragma GCC unroll 3
            for (int f = 0; f < 3; ++f) {
              sum[h][f] = dot(sum[h][f], _mm256_and_si256(fields, masks[f]), quads[f]);
            }
          }
        });
      }
      for (int h = 0; h < 2; ++h) {
        for (int f = 0; f < 3; ++f) total[h] = add(total[h], _mm256_srai_epi32(sum[h][f], 2 * f));
      }
      left -= now;
    }
    store(a.out + panel * kPanelRows, total[0]);
    store(a.out + panel * kPanelRows + 8, total[1]);
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
  for (size_t q = 0; q < quad_count; ++q, quads += kQuadBytes, y += 4) {
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

struct GroupSum {
  static __m256i begin(int32_t y_sum) { return _mm256_set1_epi32(-y_sum); }
  static __m256i add(__m256i sum, __m256i w, __m256i y) { return dot(sum, w, y); }
  static __m256i end(__m256i sum, int32_t) { return sum; }
};

}  // namespace

const Table kAvxVnni{{gemv_two_bit, gemv_three_trits},
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
                     multiply_groups<GroupSum, 6>};

}  // namespace gpuready::ternary::kernels
