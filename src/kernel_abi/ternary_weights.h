// How weights are quantised, for every processor: what the tensor-wide rules compare with, and the
// order in which the absmean rule adds. No header, for the device.
//
// The absmean rule's total, of the magnitudes in f64, each addition rounded to nearest even:
// - A piece is kSumPiece weights that follow each other; the last may have fewer. It has kSumLanes
//   sums: lane j adds the piece's weights j, j + kSumLanes, j + 2 kSumLanes, ... in turn, from
//   zero.
// - The lanes are added in halves: lane j and j + 8 for j below 8, then j and j + 4, 2, 1.
// - The pieces' sums are added in pairs, 2i and 2i + 1, their sums in pairs, and so on; a last one
//   without another goes up as it is.
// So an aligned run of 2^n pieces has one sum whoever adds it, which threads and blocks share by.
// The summands are not negative: with P pieces the total is within (63 + 4 + ceil(log2 P)) 2^-53 of
// the exact one, relatively; below 1.1e-14 for the 2^40 weights that a tensor may have. An f32 mean
// is therefore the nearest, unless the exact one is as close to the middle between two.
#pragma once

namespace gpuready::ternary {

inline constexpr unsigned kSumPiece = 1024, kSumLanes = 16;

constexpr float absmean_scale(double total, double count) {
  const float mean = static_cast<float>(total / count);
  return mean > 1e-5f ? mean : 1e-5f;
}

// As the values of FloatType.
inline constexpr unsigned kWeightsF32 = 0, kWeightsF16 = 1, kWeightsBf16 = 2;

// The greatest magnitude, as a type's bits, that becomes zero; beyond it a weight becomes its sign.
// Absmean: w / scale, rounded to f32, and that to an integer, half to even, is zero up to one half;
// and the quotient is above one half just where w is above scale / 2, for between them is not an
// f32.
template <unsigned kType>
constexpr unsigned absmean_threshold(float scale) {
  const float half = scale * 0.5f;  // exact: no scale is below 1e-5
  const unsigned bits = __builtin_bit_cast(unsigned, half);
  if (kType == kWeightsF32) return bits;
  if (kType == kWeightsBf16) return bits >> 16;
  if (half >= 65504.0f) return 0x7BFF;
  if (half < 0x1p-14f) return static_cast<unsigned>(half * 0x1p24f);
  return (bits - (112u << 23)) >> 13;
}
// The sign rule: below 1e-6, as f64.
template <unsigned kType>
inline constexpr unsigned kSignThreshold = kType == kWeightsF32   ? 0x358637BDu
                                           : kType == kWeightsF16 ? 16u
                                                                  : 0x3586u;

// The codes, w + 1, of the two 16-bit weights of a word, in bits 15-14 and 31-30. `spare` is 0x7FFF
// less the threshold in either half: it carries a magnitude beyond that into the sign's bit.
constexpr unsigned code_pair(unsigned word, unsigned spare) {
  const unsigned beyond = (word & 0x7FFF7FFFu) + spare;
  return (beyond & ~word & 0x80008000u) | (~beyond >> 1 & 0x40004000u);
}
constexpr unsigned spare_of(unsigned threshold) { return (0x7FFF - threshold) * 0x10001u; }

// Magnitudes as f64 by their bits alone, less a power of two: kSummandUnit of them is one. With
// the exponents' bits as they are subnormals become subnormals, so nothing is distinguished; sums
// down there are exact in either unit, and above round alike.
template <unsigned kType>
inline constexpr double kSummandUnit = kType == kWeightsF16 ? 0x1p1008 : 0x1p896;
// Of a 32-bit word: all of it, or its half 0 or 1.
template <unsigned kType>
constexpr double summand(unsigned word, unsigned half) {
  constexpr unsigned kMask = kType == kWeightsF16 ? 0x7FFFu << 10 : 0x7FFFu << 13;
  constexpr unsigned kShift = kType == kWeightsF16 ? 10 : 13;
  const unsigned high = kType == kWeightsF32 ? (word & 0x7FFFFFFFu) >> 3
                        : half == 0          ? word << kShift & kMask
                                             : word >> (16 - kShift) & kMask;
  const unsigned low = kType == kWeightsF32 ? word << 29 : 0;
  return __builtin_bit_cast(double, static_cast<unsigned long long>(high) << 32 | low);
}

// On a GPU a block leaves the sum of this many pieces, where the codes will be.
inline constexpr unsigned kSummedPieces = 32;
constexpr unsigned long long summed_runs(unsigned long long count) {
  constexpr unsigned long long kRun = kSumPiece * kSummedPieces;
  return (count + kRun - 1) / kRun;
}
// Aligned for two at once. The first may lie over the scale's place, which is written after it was
// read: a tensor has at least 64 weights, that is 16 bytes of codes and 32 behind them.
constexpr unsigned long long sums_address(unsigned long long out) { return (out + 15) & ~15ull; }

}  // namespace gpuready::ternary
