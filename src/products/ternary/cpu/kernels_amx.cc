// The AMX tier. Only matrix-by-matrix products differ from the AVX-512 tier, whose functions the
// rest are (tiers.cc). Tiles hold 16 rows of 64 bytes; this tier is used only after the
// kernel granted the tile state.
#include <immintrin.h>

#include "ternary/cpu/kernels.h"

namespace gpuready::ternary::kernels {
namespace {

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

constexpr size_t kTileQuads = 16;  // 64 columns
constexpr size_t kTileRows = 32;   // of activations, and of two panels
constexpr size_t kAhead = 128;     // bytes: two steps
constexpr size_t kSumsStride = 2 * kPanelRows * sizeof(int32_t);

inline __attribute__((always_inline)) void zero_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

// Tiles 0 to 3 are sums of 32 activation rows by 32 weights' rows, 4 and 5 activations (signed),
// 6 and 7 quad rows (unsigned): sums[m][n] += sum over q and i of y[m][4q + i] * quads[q][4n + i],
// for q in [begin, end). `two`: panels.
inline __attribute__((always_inline)) void multiply(const uint8_t* const (&quads)[2], bool two,
                                                    size_t begin, size_t end, const int8_t* y,
                                                    size_t y_stride) {
  for (size_t q = begin; q < end; q += kTileQuads) {
    // The activations come from the second-level cache, a line of each row, which the hardware
    // does not foresee; the quad rows stay in the first.
    for (size_t row = 0; row < kTileRows; ++row) {
      _mm_prefetch(reinterpret_cast<const char*>(y + row * y_stride + 4 * q) + kAhead, _MM_HINT_T0);
    }
    _tile_loadd(4, y + 4 * q, y_stride);
    _tile_loadd(6, quads[0] + q * kQuadBytes, kQuadBytes);
    _tile_dpbsud(0, 4, 6);
    _tile_loadd(5, y + 16 * y_stride + 4 * q, y_stride);
    _tile_dpbsud(2, 5, 6);
    if (two) {
      _tile_loadd(7, quads[1] + q * kQuadBytes, kQuadBytes);
      _tile_dpbsud(1, 4, 7);
      _tile_dpbsud(3, 5, 7);
    }
  }
}

inline __attribute__((always_inline)) void store_sums(int32_t* sums, bool two) {
  int32_t* sums1 = sums + 16 * 2 * kPanelRows;
  _tile_stored(0, sums, kSumsStride);
  _tile_stored(2, sums1, kSumsStride);
  if (two) {
    _tile_stored(1, sums + 16, kSumsStride);
    _tile_stored(3, sums1 + 16, kSumsStride);
  }
}

}  // namespace

void amx_gemm(const GemmArgs& a) {
  const TileConfig config;
  _tile_loadconfig(&config);
  const bool two = a.panels == 2;
  for (size_t m = 0; m < a.rows; m += kTileRows) {
    int32_t* sums0 = a.sums + m * 32;
    int32_t* sums1 = sums0 + 16 * 32;
    if (a.first) {
      zero_sums();
    } else {
      _tile_loadd(0, sums0, kSumsStride);
      _tile_loadd(2, sums1, kSumsStride);
      if (two) {
        _tile_loadd(1, sums0 + 16, kSumsStride);
        _tile_loadd(3, sums1 + 16, kSumsStride);
      }
    }
    multiply(a.quads, two, 0, a.quad_count, a.y + m * a.y_stride, a.y_stride);
    store_sums(sums0, two);
  }
  // A thread with live tile state is slower to switch and keeps the core's tile unit powered.
  _tile_release();
}

namespace {

using Sums = int32_t[kTileRows * 2 * kPanelRows];

template <int panels>
void add_group(const GroupedGemmArgs& a, size_t group, const Sums& sums, size_t m, size_t rows) {
  const int32_t* y_sums = a.y_sums + group * a.y_sums_stride + m;
  float* values = a.values + m * 2 * kPanelRows;
  const bool first = a.first && group == 0;
  __m512 scales[panels];
  for (size_t p = 0; p < panels; ++p) scales[p] = _mm512_loadu_ps(a.scales[p] + group * kPanelRows);
  for (size_t row = 0; row < rows; ++row) {
    const __m512i y_sum = _mm512_set1_epi32(y_sums[row]);
#pragma GCC unroll 2
    for (size_t p = 0; p < panels; ++p) {
      const size_t at = row * 2 * kPanelRows + p * kPanelRows;
      const __m512 term = _mm512_mul_ps(
          _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_loadu_si512(sums + at), y_sum)), scales[p]);
      const __m512 before = first ? _mm512_setzero_ps() : _mm512_loadu_ps(values + at);
      _mm512_storeu_ps(values + at, _mm512_add_ps(before, term));
    }
  }
}

template <int panels>
void gemm_groups_of_panels(const GroupedGemmArgs& a) {
  // A group's terms are added while the tiles work on the next group.
  alignas(64) Sums sums[2];
  for (size_t m = 0; m < a.rows; m += kTileRows) {
    const int8_t* y = a.y + m * a.y_stride;
    const size_t rows = a.rows - m < kTileRows ? a.rows - m : kTileRows;
    size_t group = 0;
    for (size_t quad = 0; quad < a.quad_count; quad += a.group_quads, ++group) {
      const size_t left = a.quad_count - quad;
      const size_t end = quad + (left < a.group_quads ? left : a.group_quads);
      zero_sums();
      multiply(a.quads, panels == 2, quad, end, y, a.y_stride);
      store_sums(sums[group % 2], panels == 2);
      if (group > 0) add_group<panels>(a, group - 1, sums[(group - 1) % 2], m, rows);
    }
    add_group<panels>(a, group - 1, sums[(group - 1) % 2], m, rows);
  }
}

}  // namespace

void amx_gemm_groups(const GroupedGemmArgs& a) {
  if (a.group_quads % kTileQuads != 0) return kAvx512.gemm_groups(a);  // would not fill tiles
  const TileConfig config;
  _tile_loadconfig(&config);
  a.panels == 2 ? gemm_groups_of_panels<2>(a) : gemm_groups_of_panels<1>(a);
  _tile_release();
}

}  // namespace gpuready::ternary::kernels
