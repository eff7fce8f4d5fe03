// Vectors by groups with AVX-512 VNNI and GFNI: an affine instruction takes a field of two bits out
// of each byte and shifts it down, so that one sum holds all fields of a group, and its term is due
// three operations after its last product.
#include "ternary/cpu/kernels_avx512_common.h"

namespace gpuready::ternary::kernels {
namespace {

// The matrix whose product with a byte is bits 2f and 2f + 1 of it: row 0 is the highest byte.
inline __m512i field_matrix(int f) {
  return _mm512_set1_epi64(
      static_cast<int64_t>(uint64_t{1} << (2 * f) << 56 | uint64_t{1} << (2 * f + 1) << 48));
}

// `blocks` of a group, or 0 where they are a.group_blocks. Sums that a group has of each panel: one
// where groups follow each other so closely that their chains hide each other's latency.
template <int streams, size_t blocks>
void gemv_panels(const GroupedGemvArgs& a, size_t panel) {
  constexpr int kSums = blocks == 2 ? 1 : 2;
  const __m512i matrix[4] = {field_matrix(0), field_matrix(1), field_matrix(2), field_matrix(3)};
  const size_t panel_bytes = a.blocks * kQuadBytes;
  const uint8_t* w = a.packed + panel * panel_bytes;
  const float* scales = a.scales + panel * a.groups * kPanelRows;
  const int8_t* y = a.y;
  __m512 values[streams];
  for (__m512& value : values) value = _mm512_setzero_ps();
  const size_t ahead_scales = scales_ahead(a.reading.ahead_bytes, a.group_blocks);
  size_t left = a.blocks;
  for (size_t group = 0; group < a.groups; ++group, scales += kPanelRows) {
    __m512i sum[streams][kSums];
    for (auto& stream : sum) {
      stream[0] = _mm512_set1_epi32(-a.y_sums[group]);
      if constexpr (kSums == 2) stream[1] = _mm512_setzero_si512();
    }
    // Behind a panel's end are the panels that come after these.
    const size_t behind = left * kQuadBytes > a.reading.ahead_bytes ? 0 : streams - 1;
    const size_t ahead = a.reading.ahead_bytes + behind * panel_bytes;
    const auto add_block = [&] {
      const __m512i quads[4] = {broadcast(y), broadcast(y + 4), broadcast(y + 8),
                                broadcast(y + 12)};
#pragma GCC unroll 4
      for (size_t s = 0; s < streams; ++s) {
        const uint8_t* at = w + s * panel_bytes;
        prefetch(at + ahead);
        const __m512i block = load(at);
#pragma GCC unroll 4
        for (int f = 0; f < 4; ++f) {
          sum[s][f % kSums] =
              dot(sum[s][f % kSums], _mm512_gf2p8affine_epi64_epi8(block, matrix[f], 0), quads[f]);
        }
      }
      w += kQuadBytes;
      y += 16;
    };
    if (blocks != 0 && left >= blocks) {
#pragma GCC unroll 4
      for (size_t b = 0; b < blocks; ++b) add_block();
      left -= blocks;
    } else {
      const size_t now = left < a.group_blocks ? left : a.group_blocks;
      for (size_t b = 0; b < now; ++b) add_block();
      left -= now;
    }
#pragma GCC unroll 4
    for (size_t s = 0; s < streams; ++s) {
      __m512i total = sum[s][0];
      if constexpr (kSums == 2) total = add(total, sum[s][1]);
      const float* of_group = scales + s * a.groups * kPanelRows;
      prefetch(of_group + ahead_scales + behind * a.groups * kPanelRows);
      const __m512 scale = _mm512_loadu_ps(of_group);
      values[s] = _mm512_add_ps(values[s], _mm512_mul_ps(_mm512_cvtepi32_ps(total), scale));
    }
  }
#pragma GCC unroll 4
  for (size_t s = 0; s < streams; ++s) {
    _mm512_storeu_ps(a.out + (panel + s) * kPanelRows, values[s]);
  }
}

template <size_t blocks>
void gemv(const GroupedGemvArgs& a) {
  by_streams(a.reading, a.panels,
             [&]<int streams>(size_t panel) { gemv_panels<streams, blocks>(a, panel); });
}

}  // namespace

void gfni_grouped_gemv(const GroupedGemvArgs& a) {
  switch (a.group_blocks) {
    case 2:
      return gemv<2>(a);
    case 4:
      return gemv<4>(a);
    default:
      return gemv<0>(a);
  }
}

}  // namespace gpuready::ternary::kernels
