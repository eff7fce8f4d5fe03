// How a lane of the ternary kernels makes its products of 16 bytes of weights: by dp4a, or by the
// tensor cores.
#pragma once

#include "kernels/cuda/ternary_device.cuh"

namespace gpuready::device {

// Word `word` of a column tile, of four columns, lies so that a lane's eight of a tile follow each
// other: lanes' quarter t, half h of 32 columns, group j of those.
GPUREADY_DEVICE u32 place_in_tile(u32 word) {
  const u32 t = word & 3, h = word >> 2 & 1, j = word >> 3;
  return t * 8 + h * 4 + j;
}

// 1, 2 or 4 rows by dp4a: 16 of them for a lane's 16 bytes. The codes are masked but never shifted:
// field f counts 4^f times and has a sum of its own.
template <u32 kCount>
struct DotProducts {
  static constexpr u32 kRows = kCount, kPadding = 0;
  int parts[kRows][4] = {};
  int low[kRows] = {}, high[kRows] = {};  // of rows g and g + 8, g = lane / 4

  static GPUREADY_DEVICE const u32* own_row(const u32* y, u32) { return y; }
  GPUREADY_DEVICE void add(Words4 w, const u32* y, u32 row_words) {
#pragma unroll
    for (u32 m = 0; m < kRows; ++m) {
      const Words4* words = reinterpret_cast<const Words4*>(y + m * row_words);
      const Words4 first = words[0], second = words[1];
#pragma unroll
      for (u32 j = 0; j < 4; ++j) {
        parts[m][0] = dot4(w[j] & 0x03030303u, first[j], parts[m][0]);
        parts[m][1] = dot4(w[j] & 0x0C0C0C0Cu, first[j], parts[m][1]);
        parts[m][2] = dot4(w[j] & 0x30303030u, second[j], parts[m][2]);
        parts[m][3] = dot4(w[j] & 0xC0C0C0C0u, second[j], parts[m][3]);
      }
    }
  }
  // Before the fields' sums could overflow: they count up to 64 times.
  GPUREADY_DEVICE void end_chunk() {
#pragma unroll
    for (u32 m = 0; m < kRows; ++m) {
      low[m] += parts[m][0] + (parts[m][2] >> 4);
      high[m] += (parts[m][1] >> 2) + (parts[m][3] >> 6);
      parts[m][0] = parts[m][1] = parts[m][2] = parts[m][3] = 0;
    }
  }
  // Calls give(row of activations, row of weights of 16, sum), each by one lane.
  template <class Give>
  GPUREADY_DEVICE void give_all(u32 lane, Give give) const {
#pragma unroll
    for (u32 m = 0; m < kRows; ++m) {
      const int of_low = sum_of_quad(low[m]), of_high = sum_of_quad(high[m]);
      if (lane % 4 != 0) continue;
      give(m, lane / 4, of_low);
      give(m, lane / 4 + 8, of_high);
    }
  }
};

#if __CUDA_ARCH__ >= 800
// Adds products of a weight word, which is the A operand but for its fields' places. Shifting by 4
// serves both of its halves: rows g + 8, the sums' upper half, then count 4 times.
GPUREADY_DEVICE void multiply_word(int (&sums)[4], u32 w, u32 first, u32 second) {
  const u32 high = w >> 4;
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(w & 0x03030303u), "r"(w & 0x0C0C0C0Cu), "r"(high & 0x03030303u),
        "r"(high & 0x0C0C0C0Cu), "r"(first), "r"(second));
}

// Up to 8 rows for each of kCount matrix instructions.
template <u32 kCount>
struct MatrixProducts {
  static constexpr u32 kRows = 8 * kCount;
  static constexpr u32 kPadding = ternary::kGemvMatrixPaddingBytes / 4;
  int sums[kCount][4] = {}, totals[kCount][4] = {};

  static GPUREADY_DEVICE const u32* own_row(const u32* y, u32 row_words) {
    return y + thread_index() % 32 / 4 * row_words;
  }
  GPUREADY_DEVICE void add(Words4 w, const u32* y, u32 row_words) {
    Words4 first[kCount], second[kCount];
#pragma unroll
    for (u32 i = 0; i < kCount; ++i) {
      const Words4* words = reinterpret_cast<const Words4*>(y + 8 * i * row_words);
      first[i] = words[0], second[i] = words[1];
    }
#pragma unroll
    for (u32 j = 0; j < 4; ++j)
#pragma unroll
      for (u32 i = 0; i < kCount; ++i) multiply_word(sums[i], w[j], first[i][j], second[i][j]);
  }
  GPUREADY_DEVICE void end_chunk() {
#pragma unroll
    for (u32 i = 0; i < kCount; ++i)
#pragma unroll
      for (u32 c = 0; c < 4; ++c) {
        totals[i][c] += c < 2 ? sums[i][c] : sums[i][c] >> 2;
        sums[i][c] = 0;
      }
  }
  template <class Give>
  GPUREADY_DEVICE void give_all(u32 lane, Give give) const {
#pragma unroll
    for (u32 i = 0; i < kCount; ++i)
#pragma unroll
      for (u32 c = 0; c < 4; ++c)
        give(8 * i + lane % 4 * 2 + c % 2, lane / 4 + c / 2 * 8, totals[i][c]);
  }
};
#endif

}  // namespace gpuready::device
