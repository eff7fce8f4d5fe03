// The three ARM tiers differ only in how they multiply quads of bytes: `Dot` (an unnamed-namespace
// type of the including file) provides
//   Sum                     several 32-bit sums of four rows
//   static Sum zero()
//   static Sum dot(Sum, int8x16_t w, int8x16_t y)   adds w[4r + i] * y[4r + i] to row r
//   static int32x4_t total(Sum)
#pragma once

#include <arm_neon.h>

#include "ternary/cpu/kernels_common.h"

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

// A triple's digits by two registers of look-ups, for any of its 32 values.
struct Digits {
  uint8x16x2_t table[3];
  Digits() {
    for (int f = 0; f < 3; ++f) {
      uint8_t bytes[32];
      for (int t = 0; t < 32; ++t) {
        bytes[t] = static_cast<uint8_t>(f == 0 ? t / 9 : f == 1 ? t / 3 % 3 : t % 3);
      }
      table[f] = {{vld1q_u8(bytes), vld1q_u8(bytes + 16)}};
    }
  }
  uint8x16_t of(uint8x16_t triple, int f) const { return vqtbl2q_u8(table[f], triple); }
};

// The triples of sixteen places of a block.
inline void triples_at(const uint8_t* place, uint8x16_t (&triples)[8]) {
  uint8x16_t line[5];
  for (int i = 0; i < 5; ++i) {
    line[i] = vld1q_u8(place + i * kQuadBytes);
    triples[i] = vandq_u8(line[i], vdupq_n_u8(31));
  }
  // VSLI keeps as many bits of its first operand as it shifts the second by.
  const uint8x16_t lowest = vsliq_n_u8(vshrq_n_u8(line[3], 5), vshrq_n_u8(line[1], 7), 1);
  triples[5] = vsliq_n_u8(vshrq_n_u8(line[1], 5), vshrq_n_u8(line[0], 5), 2);
  triples[6] = vsliq_n_u8(vshrq_n_u8(line[3], 6), vshrq_n_u8(line[2], 5), 2);
  triples[7] = vsliq_n_u8(lowest, vshrq_n_u8(line[4], 5), 2);
}

// The codes of sixteen places of a block, a quad row each.
template <int form>
inline void codes_at(const Digits& digits, const uint8_t* place,
                     uint8x16_t (&codes)[kBlockCols[form] / 4]) {
  if constexpr (form == 0) {
    const uint8x16_t w = vld1q_u8(place);
    for (int f = 0; f < 4; ++f) codes[f] = two_bit_field(w, f);
  } else {
    uint8x16_t triples[8];
    triples_at(place, triples);
    for (int t = 0; t < 8; ++t) {
      for (int f = 0; f < 3; ++f) codes[3 * t + f] = digits.of(triples[t], f);
    }
  }
}

// Adds some blocks of a panel times activations to the sums of its rows.
template <class Dot, int form>
inline void add_blocks(const Digits& digits, const uint8_t* block, const int8_t* y, size_t blocks,
                       typename Dot::Sum (&sums)[4]) {
  constexpr int kFields = kBlockCols[form] / 4;
  for (size_t b = 0; b < blocks; ++b, block += kBlockBytes[form], y += kBlockCols[form]) {
    int8x16_t quads[kFields];
    for (int f = 0; f < kFields; ++f) quads[f] = broadcast(y + 4 * f);
    for (int part = 0; part < 4; ++part) {
      uint8x16_t codes[kFields];
      codes_at<form>(digits, block + 16 * part, codes);
      for (int f = 0; f < kFields; ++f) {
        sums[part] = Dot::dot(sums[part], vreinterpretq_s8_u8(codes[f]), quads[f]);
      }
    }
  }
}

template <class Dot, int form>
void gemv(const GemvArgs& a) {
  const Digits digits;
  for (size_t panel = 0; panel < a.panels; ++panel) {
    typename Dot::Sum sums[4];
    for (auto& sum : sums) sum = Dot::zero();
    add_blocks<Dot, form>(digits, a.packed + panel * a.blocks * kBlockBytes[form], a.y, a.blocks,
                          sums);
    for (int part = 0; part < 4; ++part) {
      const int32x4_t sum = Dot::total(sums[part]);
      vst1q_s32(a.out + panel * kPanelRows + 4 * part, vsubq_s32(sum, vdupq_n_s32(a.y_sum)));
    }
  }
}

template <class Dot>
void grouped_gemv(const GroupedGemvArgs& a) {
  const Digits digits;
  for (size_t panel = 0; panel < a.panels; ++panel) {
    const uint8_t* block = a.packed + panel * a.blocks * kQuadBytes;
    const float* scales = a.scales + panel * a.groups * kPanelRows;
    const int8_t* y = a.y;
    float32x4_t values[4];
    for (auto& value : values) value = vdupq_n_f32(0);
    for (size_t g = 0, left = a.blocks; g < a.groups; ++g, scales += kPanelRows) {
      const size_t now = left < a.group_blocks ? left : a.group_blocks;
      typename Dot::Sum sums[4];
      for (auto& sum : sums) sum = Dot::zero();
      add_blocks<Dot, 0>(digits, block, y, now, sums);
      block += now * kQuadBytes;
      y += now * kBlockCols[0];
      left -= now;
      for (int part = 0; part < 4; ++part) {
        const int32x4_t sum = vsubq_s32(Dot::total(sums[part]), vdupq_n_s32(a.y_sums[g]));
        const float32x4_t term = vmulq_f32(vcvtq_f32_s32(sum), vld1q_f32(scales + 4 * part));
        values[part] = vaddq_f32(values[part], term);
      }
    }
    for (int part = 0; part < 4; ++part) {
      vst1q_f32(a.out + panel * kPanelRows + 4 * part, values[part]);
    }
  }
}

template <int form>
void unpack(const uint8_t* packed, size_t blocks, uint8_t* quads) {
  constexpr int kFields = kBlockCols[form] / 4;
  const Digits digits;
  for (size_t b = 0; b < blocks; ++b, packed += kBlockBytes[form], quads += kFields * kQuadBytes) {
    for (int part = 0; part < kQuadBytes; part += 16) {
      uint8x16_t codes[kFields];
      codes_at<form>(digits, packed + part, codes);
      for (int f = 0; f < kFields; ++f) vst1q_u8(quads + kQuadBytes * f + part, codes[f]);
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
  for (size_t q = 0; q < quad_count; ++q, quads += kQuadBytes, y += 4) {
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
