// The i8mm tier: products of vectors by dot products, of matrices by SMMLA, which multiplies two
// rows by two rows over eight columns.
#include "ternary/cpu/kernels_neon_common.h"

namespace gpuready::ternary::kernels {
namespace {

struct Dot {
  using Sum = int32x4_t;
  static Sum zero() { return vdupq_n_s32(0); }
  static Sum dot(Sum sum, int8x16_t w, int8x16_t y) { return vdotq_s32(sum, w, y); }
  static int32x4_t total(Sum sum) { return sum; }
};

inline int8x16_t zip_quads(const uint8_t* first, const uint8_t* second, bool upper) {
  const int32x4_t a = vreinterpretq_s32_u8(vld1q_u8(first));
  const int32x4_t b = vreinterpretq_s32_u8(vld1q_u8(second));
  return vreinterpretq_s8_s32(upper ? vzip2q_s32(a, b) : vzip1q_s32(a, b));
}

// Two pairs of activation rows times one panel. Two neighbouring quad rows, zipped, are pairs of
// weight rows over eight columns; a sum is [y0 w0, y0 w1, y1 w0, y1 w1].
void multiply_four_rows(const uint8_t* quads, size_t quad_count, const int8_t* y, size_t y_stride,
                        int32_t* out, bool first) {
  int32x4_t sums[2][8];
  for (auto& pair : sums) {
    for (auto& sum : pair) sum = vdupq_n_s32(0);
  }
  for (size_t q = 0; q < quad_count; q += 2, quads += 2 * kQuadBytes, y += 8) {
    int8x16_t rows[2];
    for (int pair = 0; pair < 2; ++pair) {
      const int8_t* row = y + static_cast<size_t>(2 * pair) * y_stride;
      rows[pair] = vcombine_s8(vld1_s8(row), vld1_s8(row + y_stride));
    }
    for (int part = 0; part < 8; ++part) {
      const uint8_t* at = quads + 16 * (part / 2);
      const int8x16_t w = zip_quads(at, at + kQuadBytes, part % 2 == 1);
      for (int pair = 0; pair < 2; ++pair) {
        sums[pair][part] = vmmlaq_s32(sums[pair][part], rows[pair], w);
      }
    }
  }
  for (int pair = 0; pair < 2; ++pair) {
    for (int part = 0; part < 8; ++part) {
      for (int m = 0; m < 2; ++m) {
        int32_t* target = out + 32 * (2 * pair + m) + 2 * part;
        int32x2_t sum = m == 0 ? vget_low_s32(sums[pair][part]) : vget_high_s32(sums[pair][part]);
        if (!first) sum = vadd_s32(sum, vld1_s32(target));
        vst1_s32(target, sum);
      }
    }
  }
}

void gemm(const GemmArgs& a) {
  GemmArgs rest = a;
  rest.rows = a.rows % 4;
  const size_t whole = a.rows - rest.rows;
  for (int panel = 0; panel < a.panels; ++panel) {
    for (size_t m = 0; m < whole; m += 4) {
      multiply_four_rows(a.quads[panel], a.quad_count, a.y + m * a.y_stride, a.y_stride,
                         a.sums + m * 32 + panel * kPanelRows, a.first);
    }
  }
  rest.y += whole * a.y_stride;
  rest.sums += whole * 32;
  gemm_rows<Dot>(rest);
}

}  // namespace

const Table kI8mm{{gemv<Dot, 0>, gemv<Dot, 1>},
                  {unpack<0>, unpack<1>},
                  gemm,
                  finish_rows,
                  greatest_magnitude,
                  quantise_row,
                  grouped_gemv<Dot>,
                  add_group_terms,
                  scale_values,
                  sum_codes,
                  store_values,
                  nullptr};

}  // namespace gpuready::ternary::kernels
