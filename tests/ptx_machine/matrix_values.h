// What the matrix instructions have in common: how numbers are stored, which lane has which of
// them, and the product itself.
#pragma once

#include <bit>
#include <limits>
#include <string>

#include "machine.h"

namespace ptx::matrix {

// The opcode as it is written.
inline std::string name_of(const Statement& statement) {
  std::string name;
  for (const auto part : statement.opcode) (name += name.empty() ? "" : ".") += part;
  return name;
}

// All matrix instructions belong to the whole warp.
inline void check_whole(const Warp& warp) {
  if (warp.mask != kAllLanes) throw Fault("a matrix instruction without all lanes");
}

// ---- numbers ----

// Of few bits. kFinite: all exponents are those of numbers, only all ones is a NaN.
template <u32 kExponentBits, u32 kMantissaBits, bool kFinite>
double small_float(u32 bits) {
  constexpr u32 kSign = 1u << (kExponentBits + kMantissaBits),
                kBias = (1u << (kExponentBits - 1)) - 1;
  constexpr u32 kInfinity = kSign - (1u << kMantissaBits);
  const u32 fields = bits & (kSign - 1);
  // The same fields of a double, whose exponents are others by a factor.
  constexpr double kFactor = std::bit_cast<double>(u64{2 * 1023 - kBias} << 52);
  const u64 sign = bits & kSign ? u64{1} << 63 : 0;
  const double value = std::bit_cast<double>(sign | u64{fields} << (52 - kMantissaBits)) * kFactor;
  if (fields > (kFinite ? kSign - 2 : kInfinity)) return std::numeric_limits<double>::quiet_NaN();
  if (fields == kInfinity && !kFinite) return value * std::numeric_limits<double>::infinity();
  return value;
}

// A type of elements: the number that one stands for, as a Real in which the products of a slice
// and their sums are exact. Of integers that is a float: see kMaxRowBytes.
template <class R, class B, R (*kDecode)(u32)>
struct Element {
  using Real = R;
  using Bits = B;
  static Real decode(const u8* from) {
    Bits bits;
    std::memcpy(&bits, from, sizeof bits);
    return kDecode(bits);
  }
};
inline float signed_byte(u32 bits) { return static_cast<float>(static_cast<i8>(bits)); }
inline float unsigned_byte(u32 bits) { return static_cast<float>(static_cast<u8>(bits)); }
inline double brain_float(u32 bits) { return double{std::bit_cast<float>(bits << 16)}; }
// The last 13 bits are not looked at.
inline double tensor_float(u32 bits) { return double{std::bit_cast<float>(bits & ~u32{0x1fff})}; }

using S8 = Element<float, u8, signed_byte>;
using U8 = Element<float, u8, unsigned_byte>;
using E4m3 = Element<double, u8, small_float<4, 3, true>>;
using E5m2 = Element<double, u8, small_float<5, 2, false>>;
using F16 = Element<double, u16, small_float<5, 10, false>>;
using Bf16 = Element<double, u16, brain_float>;
using Tf32 = Element<double, u32, tensor_float>;

// Adds a sum of products to an accumulator: integers modulo 2^32, fp32 with one rounding.
inline u32 plus(u32 accumulator, float sum) {
  return accumulator + static_cast<u32>(static_cast<i32>(sum));
}
inline u32 plus(u32 accumulator, double sum) {
  return std::bit_cast<u32>(static_cast<float>(std::bit_cast<float>(accumulator) + sum));
}

// ---- places ----

// Of an operand, which is always K-major: row of A or column of B, and a byte of that. Of a result:
// row and column.
struct Spot {
  u32 row, column;
};

// Matrices by 8 rows: four lanes have a row's 16 bytes, or two results each of 8 columns.
struct Quads {
  static constexpr u32 kProducts = 1;
  static Spot operand(u32 lane, u32 i, u32 rows) {
    return {lane / 4 + i % (rows / 8) * 8, lane % 4 * 4 + i / (rows / 8) * 16};
  }
  static Spot result(u32 lane, u32 i) {
    return {lane / 4 + i / 2 % 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2};
  }
};
// Volta's four products of 8 by 8, each by a quad and the one 16 lanes on. Here they are the blocks
// on the diagonal of one product of 32 by 32.
struct QuadPairs {
  static constexpr u32 kProducts = 4;
  static Spot operand(u32 lane, u32 i, u32) {
    return {lane % 16 / 4 * 8 + lane / 16 * 4 + lane % 4, i * 4};
  }
  static Spot result(u32 lane, u32 i) {
    const u32 pair = lane % 16 / 4 * 8;
    return {pair + lane / 16 * 4 + (i & 2) + (lane & 1), pair + (i & 4) + (lane & 2) + (i & 1)};
  }
};

// ---- products ----

inline constexpr u32 kMaxRows = 32, kMaxColumns = 256;
inline constexpr u32 kMaxRowBytes = 32;  // of one instruction
static_assert(255 * 128 * kMaxRowBytes < 1u << 24, "a float has all bits of a sum of integers");

// One matrix product by a warp. Put the operands' bytes into a and b first.
template <class A, class B>
struct Product {
  using Real = A::Real;
  // Columns at once, as processors have vectors of.
  static constexpr u32 kFew = 16 / sizeof(Real);
  using Few [[gnu::vector_size(16)]] = Real;

  u8 a[kMaxRows][kMaxRowBytes], b[kMaxColumns][kMaxRowBytes];
  Few sums[kMaxColumns / kFew][kMaxRows];

  void multiply(u32 rows, u32 columns, u32 row_bytes) {
    static_assert(sizeof(typename A::Bits) == sizeof(typename B::Bits));
    constexpr u32 kBytes = sizeof(typename A::Bits), kMaxDepth = kMaxRowBytes / kBytes;
    const u32 depth = row_bytes / kBytes;
    Real left[kMaxRows][kMaxDepth];
    Few right[kMaxDepth];
    for (u32 row = 0; row < rows; ++row)
      for (u32 k = 0; k < depth; ++k) left[row][k] = A::decode(&a[row][k * kBytes]);
    for (u32 column = 0; column < columns; column += kFew) {
      for (u32 k = 0; k < depth; ++k)
        for (u32 i = 0; i < kFew; ++i) right[k][i] = B::decode(&b[column + i][k * kBytes]);
      for (u32 row = 0; row < rows; ++row) {
        Few few = {};
        for (u32 k = 0; k < depth; ++k) few += left[row][k] * right[k];
        sums[column / kFew][row] = few;
      }
    }
  }
  Real sum(Spot spot) const { return sums[spot.column / kFew][spot.row][spot.column % kFew]; }
};

// Copies an operand that is in registers, at `places`, to the rows of a product.
template <class Layout>
void gather(Warp& warp, const u32* places, u32 rows, u32 row_bytes, u8 (*to)[kMaxRowBytes]) {
  for (u32 i = 0; i < rows * row_bytes / 4 / kLanes; ++i) {
    const u32* const words = warp.at<u32>(places[i]);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const Spot spot = Layout::operand(lane, i, rows);
      std::memcpy(&to[spot.row][spot.column], &words[lane], sizeof words[lane]);
    }
  }
}

// wgmma.*, else false.
bool make_wgmma(Builder&, const Statement&, Instruction&);

}  // namespace ptx::matrix
