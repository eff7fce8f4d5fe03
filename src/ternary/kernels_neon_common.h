// The three ARM tiers differ only in how they multiply quads of bytes: `Dot` (an unnamed-namespace
// type of the including file) provides
//   Sum                     several 32-bit sums of four rows
//   static Sum zero()
//   static Sum dot(Sum, int8x16_t w, int8x16_t y)   adds w[4r + i] * y[4r + i] to row r
//   static int32x4_t total(Sum)
#pragma once

#include <arm_neon.h>

#include "ternary/kernels_common.h"

namespace gpuready::ternary::kernels {
namespace {

inline int8x16_t broadcast(const int8_t* y) {
  int32_t quad;
  __builtin_memcpy(&quad, y, 4);
  return vreinterpretq_s8_s32(vdupq_n_s32(quad));
}

inline uint8x16_t two_bit_field(uint8x16_t w, int f) {
  return vandq_u8(vshlq_u8(w, vdupq_n_s8(static_cast<int8_t>(-2 * f))), vdupq_n_u8(3));
}

// Minus the digit: each threshold that the fraction has reached is a byte of all ones.
inline int8x16_t minus_digit(uint8x16_t x) {
  return vreinterpretq_s8_u8(vaddq_u8(vcgeq_u8(x, vdupq_n_u8(86)), vcgeq_u8(x, vdupq_n_u8(171))));
}

template <class Dot, int form>
void gemv(const GemvArgs& a) {
  constexpr int kFields = kBlockCols[form] / 4;
  for (size_t panel = 0; panel < a.panels; ++panel) {
    const uint8_t* block = a.packed + panel * a.blocks * kBlockBytes;
    const int8_t* y = a.y;
    typename Dot::Sum sums[4];
    for (auto& sum : sums) sum = Dot::zero();
    for (size_t b = 0; b < a.blocks; ++b, block += kBlockBytes, y += kBlockCols[form]) {
      int8x16_t quads[kFields];
      for (int f = 0; f < kFields; ++f) quads[f] = broadcast(y + 4 * f);
      for (int part = 0; part < 4; ++part) {
        uint8x16_t w = vld1q_u8(block + 16 * part);
        for (int f = 0; f < kFields; ++f) {
          if constexpr (form == 0) {
            sums[part] = Dot::dot(sums[part], vreinterpretq_s8_u8(two_bit_field(w, f)), quads[f]);
          } else {
            sums[part] = Dot::dot(sums[part], minus_digit(w), quads[f]);
            w = vmulq_u8(w, vdupq_n_u8(3));
          }
        }
      }
    }
    for (int part = 0; part < 4; ++part) {
      int32x4_t sum = Dot::total(sums[part]);
      if (form == 1) sum = vnegq_s32(sum);
      vst1q_s32(a.out + panel * kPanelRows + 4 * part, vsubq_s32(sum, vdupq_n_s32(a.y_sum)));
    }
  }
}

template <int form>
void unpack(const uint8_t* packed, size_t blocks, uint8_t* quads) {
  constexpr int kFields = kBlockCols[form] / 4;
  for (size_t b = 0; b < blocks; ++b, packed += kBlockBytes, quads += kFields * kBlockBytes) {
    for (int part = 0; part < 64; part += 16) {
      uint8x16_t w = vld1q_u8(packed + part);
      for (int f = 0; f < kFields; ++f) {
        if constexpr (form == 0) {
          vst1q_u8(quads + 64 * f + part, two_bit_field(w, f));
        } else {
          vst1q_u8(quads + 64 * f + part, vreinterpretq_u8_s8(vnegq_s8(minus_digit(w))));
          w = vmulq_u8(w, vdupq_n_u8(3));
        }
      }
    }
  }
}

// `rows` activation rows times one panel.
template <class Dot, int rows>
void multiply_rows(const uint8_t* quads, size_t quad_count, const int8_t* y, size_t y_stride,
                   int32_t* out, bool first) {
  typename Dot::Sum sums[rows][4];
  for (auto& row : sums) {
    for (auto& sum : row) sum = Dot::zero();
  }
  for (size_t q = 0; q < quad_count; ++q, quads += kBlockBytes, y += 4) {
    int8x16_t w[4];
    for (int part = 0; part < 4; ++part) {
      w[part] = vreinterpretq_s8_u8(vld1q_u8(quads + 16 * part));
    }
    for (int m = 0; m < rows; ++m) {
      const int8x16_t quad = broadcast(y + static_cast<size_t>(m) * y_stride);
      for (int part = 0; part < 4; ++part) sums[m][part] = Dot::dot(sums[m][part], w[part], quad);
    }
  }
  for (int m = 0; m < rows; ++m) {
    for (int part = 0; part < 4; ++part) {
      int32_t* target = out + 32 * m + 4 * part;
      int32x4_t sum = Dot::total(sums[m][part]);
      if (!first) sum = vaddq_s32(sum, vld1q_s32(target));
      vst1q_s32(target, sum);
    }
  }
}

template <class Dot>
void gemm_rows(const GemmArgs& a) {
  for (int panel = 0; panel < a.panels; ++panel) {
    size_t m = 0;
    const auto at = [&](auto multiply, int rows) {
      multiply(a.quads[panel], a.quad_count, a.y + m * a.y_stride, a.y_stride,
               a.sums + m * 32 + panel * kPanelRows, a.first);
      m += static_cast<size_t>(rows);
    };
    while (m + 4 <= a.rows) at(multiply_rows<Dot, 4>, 4);
    while (m < a.rows) at(multiply_rows<Dot, 1>, 1);
  }
}

}  // namespace
}  // namespace gpuready::ternary::kernels
