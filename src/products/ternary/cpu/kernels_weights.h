// The inner loops of quantising and packing weights. As in kernels.h: plain types, and no inline
// function with linkage.
#pragma once

#include "ternary/cpu/kernels.h"

namespace gpuready::ternary::kernels {

// Weights are words of a FloatType: f32, f16, bf16. Their magnitudes are compared as integers: the
// bits without the sign, which are in the order of the values.
inline constexpr int kFloatTypes = 3;
inline constexpr uint32_t kInfinity[kFloatTypes] = {0x7F800000, 0x7C00, 0x7F80};
// Weights whose magnitudes are added up by themselves, in 16 sums of every sixteenth: the order of
// kernel_abi/ternary_weights.h, whose functions the files of tiers must not have.
inline constexpr size_t kSumPiece = 1024;

// `rows` (at most 16) rows of codes -1, 0, +1 to one panel.
struct PackArgs {
  const int8_t* codes;
  size_t stride, rows, cols;
  uint8_t* packed;
  int32_t* sums;  // of each row's codes
};

struct WeightTable {
  // codes[i] = sign + bias, where the sign is that of the weight, or 0 where its magnitude is not
  // above `threshold`. Returns the greatest magnitude: kInfinity or more when not all are finite.
  uint32_t (*codes[kFloatTypes])(const uint8_t* words, size_t count, uint32_t threshold, int bias,
                                 uint8_t* codes);
  // sums[i] is the sum of the magnitudes of piece i; returns as codes() does.
  uint32_t (*sums[kFloatTypes])(const uint8_t* words, size_t count, double* sums);
  // Codes 0 to 3, [groups][4][width], to bytes, [groups][width], the first plane in the upper bits.
  void (*join)(const uint8_t* codes, size_t groups, size_t width, uint8_t* bytes);
  // The reverse, to codes less one; false when a code is 3.
  bool (*split)(const uint8_t* bytes, size_t groups, size_t width, int8_t* codes);
  // Codes plus one; false when a code is not -1, 0 or +1.
  bool (*raise)(const int8_t* codes, size_t count, uint8_t* raised);
  bool (*pack[kForms])(const PackArgs&);  // false as in raise()
};

extern const WeightTable kWeightsScalar;
#if defined(__x86_64__)
extern const WeightTable kWeightsAvx2;
#endif

}  // namespace gpuready::ternary::kernels
