// The AMX tier. Only the matrix-by-matrix product differs from the AVX-512 tier, whose functions
// the rest are (tiers.cc). Tiles hold 16 rows of 64 bytes; this tier is used only after the
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
constexpr size_t kAhead = 128;     // bytes: two steps

}  // namespace

// Tiles 0 to 3 are sums of 32 activation rows by 32 weights' rows, 4 and 5 activations (signed),
// 6 and 7 quad rows (unsigned): sums[m][n] += sum over q and i of y[m][4q + i] * quads[q][4n + i].
void amx_gemm(const GemmArgs& a) {
  const TileConfig config;
  _tile_loadconfig(&config);
  constexpr size_t kSumsStride = 32 * sizeof(int32_t);
  const bool two = a.panels == 2;
  for (size_t m = 0; m < a.rows; m += 32) {
    const int8_t* y0 = a.y + m * a.y_stride;
    const int8_t* y1 = y0 + 16 * a.y_stride;
    int32_t* sums0 = a.sums + m * 32;
    int32_t* sums1 = sums0 + 16 * 32;
    if (a.first) {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    } else {
      _tile_loadd(0, sums0, kSumsStride);
      _tile_loadd(2, sums1, kSumsStride);
      if (two) {
        _tile_loadd(1, sums0 + 16, kSumsStride);
        _tile_loadd(3, sums1 + 16, kSumsStride);
      }
    }
    for (size_t q = 0; q < a.quad_count; q += kTileQuads) {
      // The activations come from the second-level cache, a line of each row, which the hardware
      // does not foresee; the quad rows stay in the first.
      for (size_t row = 0; row < 32; ++row) {
        _mm_prefetch(reinterpret_cast<const char*>(y0 + row * a.y_stride + 4 * q) + kAhead,
                     _MM_HINT_T0);
      }
      _tile_loadd(4, y0 + 4 * q, a.y_stride);
      _tile_loadd(6, a.quads[0] + q * kQuadBytes, kQuadBytes);
      _tile_dpbsud(0, 4, 6);
      _tile_loadd(5, y1 + 4 * q, a.y_stride);
      _tile_dpbsud(2, 5, 6);
      if (two) {
        _tile_loadd(7, a.quads[1] + q * kQuadBytes, kQuadBytes);
        _tile_dpbsud(1, 4, 7);
        _tile_dpbsud(3, 5, 7);
      }
    }
    _tile_stored(0, sums0, kSumsStride);
    _tile_stored(2, sums1, kSumsStride);
    if (two) {
      _tile_stored(1, sums0 + 16, kSumsStride);
      _tile_stored(3, sums1 + 16, kSumsStride);
    }
  }
  // A thread with live tile state is slower to switch and keeps the core's tile unit powered.
  _tile_release();
}

}  // namespace gpuready::ternary::kernels
