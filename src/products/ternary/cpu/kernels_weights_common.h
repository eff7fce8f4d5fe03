// Loops over weights that a compiler vectorises by itself, compiled again for each kind of CPU.
// Everything is in an unnamed namespace for that reason.
#pragma once

#include "ternary/cpu/kernels_weights.h"

namespace gpuready::ternary::kernels {
namespace {

template <class Word>
uint32_t plain_codes(const uint8_t* words, size_t count, uint32_t threshold, int bias,
                     uint8_t* codes) {
  constexpr int kSign = 8 * static_cast<int>(sizeof(Word)) - 1;
  constexpr Word kMagnitude = static_cast<Word>((uint64_t{1} << kSign) - 1);
  const Word limit = static_cast<Word>(threshold), offset = static_cast<Word>(bias);
  Word greatest = 0;
  for (size_t i = 0; i < count; ++i) {
    Word word;
    __builtin_memcpy(&word, words + i * sizeof word, sizeof word);
    const Word magnitude = word & kMagnitude;
    greatest = magnitude > greatest ? magnitude : greatest;
    const Word sign = static_cast<Word>(1 - 2 * (word >> kSign));
    codes[i] = static_cast<uint8_t>(offset + (magnitude > limit ? sign : Word{0}));
  }
  return greatest;
}

inline float magnitude_f32(const uint8_t* word, uint32_t& bits) {
  __builtin_memcpy(&bits, word, 4);
  bits &= 0x7FFFFFFF;
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}
inline float magnitude_bf16(const uint8_t* word, uint32_t& bits) {
  uint16_t half;
  __builtin_memcpy(&half, word, 2);
  bits = half & 0x7FFFu;
  const uint32_t wide = bits << 16;
  float value;
  __builtin_memcpy(&value, &wide, 4);
  return value;
}
// Subnormals get the least exponent, whose one is then taken off again.
inline float magnitude_f16(const uint8_t* word, uint32_t& bits) {
  uint16_t half;
  __builtin_memcpy(&half, word, 2);
  bits = half & 0x7FFFu;
  const bool normal = bits >= 0x400;
  const uint32_t wide = (bits << 13) + (normal ? 112u << 23 : 113u << 23);
  float value;
  __builtin_memcpy(&value, &wide, 4);
  return normal ? value : value - 0x1p-14f;
}

template <float magnitude(const uint8_t*, uint32_t&), size_t bytes>
uint32_t plain_sums(const uint8_t* words, size_t count, double* sums) {
  uint32_t greatest = 0;
  for (size_t first = 0; first < count; first += kSumPiece, ++sums) {
    const size_t now = count - first < kSumPiece ? count - first : kSumPiece;
    double lanes[16] = {};
    for (size_t i = 0; i < now; ++i) {
      uint32_t bits;
      lanes[i % 16] += static_cast<double>(magnitude(words + (first + i) * bytes, bits));
      greatest = bits > greatest ? bits : greatest;
    }
    for (size_t half = 8; half > 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    *sums = lanes[0];
  }
  return greatest;
}

template <size_t fixed>
void join_groups(const uint8_t* codes, size_t groups, size_t width, uint8_t* bytes) {
  const size_t w = fixed != 0 ? fixed : width;
  for (size_t g = 0; g < groups; ++g, codes += 4 * w, bytes += w) {
    for (size_t i = 0; i < w; ++i) {
      bytes[i] = static_cast<uint8_t>(codes[i] << 6 | codes[w + i] << 4 | codes[2 * w + i] << 2 |
                                      codes[3 * w + i]);
    }
  }
}
void join(const uint8_t* codes, size_t groups, size_t width, uint8_t* bytes) {
  if (width == 32) return join_groups<32>(codes, groups, width, bytes);
  if (width == 16) return join_groups<16>(codes, groups, width, bytes);
  join_groups<0>(codes, groups, width, bytes);
}

template <size_t fixed>
bool split_groups(const uint8_t* bytes, size_t groups, size_t width, int8_t* codes) {
  const size_t w = fixed != 0 ? fixed : width;
  uint8_t both = 0;  // bits of a code that are both set
  for (size_t g = 0; g < groups; ++g, codes += 4 * w, bytes += w) {
    for (size_t i = 0; i < w; ++i) {
      const uint8_t byte = bytes[i];
      both |= static_cast<uint8_t>(byte & byte >> 1 & 0x55);
      codes[i] = static_cast<int8_t>((byte >> 6) - 1);
      codes[w + i] = static_cast<int8_t>((byte >> 4 & 3) - 1);
      codes[2 * w + i] = static_cast<int8_t>((byte >> 2 & 3) - 1);
      codes[3 * w + i] = static_cast<int8_t>((byte & 3) - 1);
    }
  }
  return both == 0;
}
bool split(const uint8_t* bytes, size_t groups, size_t width, int8_t* codes) {
  if (width == 32) return split_groups<32>(bytes, groups, width, codes);
  if (width == 16) return split_groups<16>(bytes, groups, width, codes);
  return split_groups<0>(bytes, groups, width, codes);
}

bool raise(const int8_t* codes, size_t count, uint8_t* raised) {
  uint8_t greatest = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t code = static_cast<uint8_t>(codes[i] + 1);
    greatest = code > greatest ? code : greatest;
    raised[i] = code;
  }
  return greatest <= 2;
}

// Four rows of four words each become four columns.
typedef uint32_t Words __attribute__((vector_size(16)));
inline void transpose(const int8_t* codes, size_t stride, uint8_t* quads) {
  Words row[4];
  for (size_t r = 0; r < 4; ++r) __builtin_memcpy(&row[r], codes + r * stride, 16);
  const Words low01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
  const Words high01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
  const Words low23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
  const Words high23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  const Words quad[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                         __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                         __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                         __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (size_t q = 0; q < 4; ++q) __builtin_memcpy(quads + q * kQuadBytes, &quad[q], 16);
}

template <int form>
void join_block(const uint8_t* quads, uint8_t* packed) {
  for (size_t i = 0; i < kQuadBytes; ++i) {
    const uint8_t* c = quads + i;
    if constexpr (form == 0) {
      packed[i] = static_cast<uint8_t>(c[0] | c[64] << 2 | c[128] << 4 | c[192] << 6);
    } else {
      const auto triple = [&](int t) {
        const uint8_t* at = c + 3 * t * kQuadBytes;
        return static_cast<uint8_t>(9 * at[0] + 3 * at[kQuadBytes] + at[2 * kQuadBytes]);
      };
      const uint8_t t5 = triple(5), t6 = triple(6), t7 = triple(7);
      const auto join = [&](int line, int upper) {
        packed[line * kQuadBytes + static_cast<int>(i)] =
            static_cast<uint8_t>(triple(line) | upper << 5);
      };
      join(0, t5 >> 2);
      join(1, (t5 & 3) | (t7 & 2) << 1);
      join(2, t6 >> 2);
      join(3, (t7 & 1) | (t6 & 3) << 1);
      join(4, t7 >> 2);
    }
  }
}

// Columns that are taken at once: whole blocks of either form and whole transposed squares.
constexpr size_t kPackCols = 288;

template <int form>
bool pack(const PackArgs& a) {
  constexpr size_t kCols = static_cast<size_t>(kBlockCols[form]), kFields = kCols / 4;
  alignas(64) int8_t padded[kPanelRows * kPackCols];
  alignas(64) uint8_t quads[kPanelRows * kPackCols];
  for (size_t r = 0; r < kPanelRows; ++r) a.sums[r] = 0;
  uint8_t* out = a.packed;
  bool good = true;
  for (size_t col = 0; col < a.cols; col += kPackCols) {
    const size_t cols = a.cols - col < kPackCols ? a.cols - col : kPackCols;
    const int8_t* codes = a.codes + col;
    size_t stride = a.stride;
    if (a.rows < kPanelRows || cols < kPackCols) {  // padding has the code of zero
      __builtin_memset(padded, 0, sizeof padded);
      for (size_t r = 0; r < a.rows; ++r) {
        __builtin_memcpy(padded + r * kPackCols, codes + r * stride, cols);
      }
      codes = padded, stride = kPackCols;
    }
    for (size_t r = 0; r < kPanelRows; ++r) {
      int32_t sum = 0;
      uint8_t greatest = 0;
      for (size_t i = 0; i < kPackCols; ++i) {
        const int8_t code = codes[r * stride + i];
        sum += code;
        const uint8_t raised = static_cast<uint8_t>(code + 1);
        greatest = raised > greatest ? raised : greatest;
      }
      a.sums[r] += sum;
      good &= greatest <= 2;
    }
    for (size_t q = 0; q < kPackCols / 4; q += 4) {
      for (size_t r = 0; r < kPanelRows; r += 4) {
        transpose(codes + r * stride + 4 * q, stride, quads + q * kQuadBytes + 4 * r);
      }
    }
    for (uint8_t& quad : quads) ++quad;
    const size_t blocks = (cols + kCols - 1) / kCols;
    for (size_t b = 0; b < blocks; ++b, out += kBlockBytes[form]) {
      join_block<form>(quads + b * kFields * kQuadBytes, out);
    }
  }
  return good;
}

}  // namespace
}  // namespace gpuready::ternary::kernels
