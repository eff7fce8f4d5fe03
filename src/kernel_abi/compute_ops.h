// The operations of the compute test and the inputs they get, made from (seed, operation, index)
// by integer arithmetic alone: the same bits on every device. The kernel (compute.cu), the
// reference (compute_golden.cc) and any other executor's kernel share this file.
#pragma once

#include "kernel_abi/memory_mix.h"  // mix_word, GPUREADY_HOST_DEVICE

namespace gpuready {

// X(id, name, inputs, result). Results are 64-bit words; NaNs are made one and the same (the
// standard does not say which a NaN is).
//   inputs: how a, b and c are drawn, see compute_inputs()
//   result: i32, i64, f16, f16x2, f32 or f64
#define GPUREADY_COMPUTE_EXACT_OPS(X)                   \
  X(AddI32, "int32 add", i32, i32)                      \
  X(SubI32, "int32 subtract", i32, i32)                 \
  X(MulLoI32, "int32 multiply low", i32, i32)           \
  X(MulHiU32, "uint32 multiply high", i32, i32)         \
  X(MulHiS32, "int32 multiply high", i32, i32)          \
  X(MadI32, "int32 multiply-add", i32, i32)             \
  X(LogicI32, "int32 logic", i32, i32)                  \
  X(ShlI32, "int32 shift left", i32, i32)               \
  X(ShrU32, "uint32 shift right", i32, i32)             \
  X(ShrS32, "int32 shift right", i32, i32)              \
  X(FunnelI32, "int32 funnel shift", i32, i32)          \
  X(PopcI32, "int32 population count", i32, i32)        \
  X(ClzI32, "int32 count leading zeros", i32, i32)      \
  X(BrevI32, "int32 bit reverse", i32, i32)             \
  X(PermI32, "int32 byte permute", i32, i32)            \
  X(Dp4aI32, "int8 dot product (dp4a)", i32, i32)       \
  X(DivU32, "uint32 divide", i32, i32)                  \
  X(RemU32, "uint32 remainder", i32, i32)               \
  X(DivS32, "int32 divide", i32, i32)                   \
  X(MinS32, "int32 minimum", i32, i32)                  \
  X(MaxU32, "uint32 maximum", i32, i32)                 \
  X(AddI64, "int64 add", i64, i64)                      \
  X(MulLoI64, "int64 multiply low", i64, i64)           \
  X(MulHiU64, "uint64 multiply high", i64, i64)         \
  X(MadWideI64, "int64 multiply-add wide", i64, i64)    \
  X(MadI64, "int64 multiply-add", i64, i64)             \
  X(ShlI64, "int64 shift left", i64, i64)               \
  X(ShrU64, "uint64 shift right", i64, i64)             \
  X(ShrS64, "int64 shift right", i64, i64)              \
  X(DivU64, "uint64 divide", i64, i64)                  \
  X(RemU64, "uint64 remainder", i64, i64)               \
  X(AddF32, "fp32 add", f32, f32)                       \
  X(MulF32, "fp32 multiply", f32, f32)                  \
  X(FmaF32, "fp32 fma", f32, f32)                       \
  X(DivF32, "fp32 divide", f32, f32)                    \
  X(SqrtF32, "fp32 square root", f32, f32)              \
  X(AddNormalF32, "fp32 add, normal", normal, f32)      \
  X(MulNormalF32, "fp32 multiply, normal", normal, f32) \
  X(CompareF32, "fp32 compare", f32, i32)               \
  X(FromIntF32, "fp32 from int32", i32, f32)            \
  X(ToIntF32, "fp32 to int32", f32, i32)                \
  X(AddF64, "fp64 add", f64, f64)                       \
  X(MulF64, "fp64 multiply", f64, f64)                  \
  X(FmaF64, "fp64 fma", f64, f64)                       \
  X(DivF64, "fp64 divide", f64, f64)                    \
  X(SqrtF64, "fp64 square root", f64, f64)              \
  X(CompareF64, "fp64 compare", f64, i32)               \
  X(FromIntF64, "fp64 from int64", i64, f64)            \
  X(ToIntF64, "fp64 to int64", f64, i64)                \
  X(NarrowF64, "fp64 to fp32", f64, f32)                \
  X(WidenF32, "fp32 to fp64", f32, f64)                 \
  X(NarrowF32, "fp32 to fp16", f32, f16)                \
  X(WidenF16, "fp16 to fp32", f16, f32)                 \
  X(AddF16, "fp16 add", f16, f16x2)                     \
  X(MulF16, "fp16 multiply", f16, f16x2)                \
  X(FmaF16, "fp16 fma", f16, f16x2)                     \
  X(SharedMemory, "shared memory", word, i32)           \
  X(Shuffle, "warp shuffle", word, i32)                 \
  X(Vote, "warp vote", word, i32)                       \
  X(Registers, "registers", word, i32)                  \
  X(GlobalAtomics, "global atomics", word, i32)         \
  X(SharedAtomics, "shared atomics", word, i32)
// What the hardware only bounds: see health/compute/special.h.
#define GPUREADY_COMPUTE_SPECIAL_OPS(X)       \
  X(Sin, "sin.approx", angle, f32)            \
  X(Cos, "cos.approx", angle, f32)            \
  X(Ex2, "ex2.approx", exponent, f32)         \
  X(Lg2, "lg2.approx", positive, f32)         \
  X(Rcp, "rcp.approx", any, f32)              \
  X(Rsqrt, "rsqrt.approx", positive, f32)     \
  X(SqrtApprox, "sqrt.approx", positive, f32) \
  X(Tanh, "tanh.approx", tanh, f32)

enum ComputeOp : unsigned {
#define GPUREADY_X(id, name, inputs, result) kOp##id,
  GPUREADY_COMPUTE_EXACT_OPS(GPUREADY_X) kComputeExactOps,
  kBeforeSpecial = kComputeExactOps - 1,
  GPUREADY_COMPUTE_SPECIAL_OPS(GPUREADY_X) kComputeOps
#undef GPUREADY_X
};
static_assert(kComputeOps <= 128);
// What of these AMD's GPUs do: integers, fp32 and what needs no names of units and no width of
// warps.
GPUREADY_HOST_DEVICE constexpr bool compute_op_is_there_in_hip(unsigned op) {
  return op <= kOpToIntF32 || op == kOpSharedMemory || op == kOpRegisters ||
         op == kOpGlobalAtomics || op == kOpSharedAtomics;
}
inline constexpr unsigned kComputeAtomics = 4;  // add, exclusive or, minimum, maximum

// Nearly all of 32 bits change with each bit of x (the finalizer of MurmurHash3, public domain).
GPUREADY_HOST_DEVICE constexpr unsigned compute_hash(unsigned x) {
  x = (x ^ x >> 16) * 0x85EBCA6Bu;
  x = (x ^ x >> 13) * 0xC2B2AE35u;
  return x ^ x >> 16;
}
GPUREADY_HOST_DEVICE constexpr unsigned compute_key(unsigned long long seed, unsigned op) {
  const unsigned lo = static_cast<unsigned>(seed), hi = static_cast<unsigned>(seed >> 32);
  return compute_hash(lo ^ compute_hash(hi + op * 0x9E3779B1u));
}
// The k-th random word (k below 8) for this index; the key is of the operation.
GPUREADY_HOST_DEVICE constexpr unsigned compute_draw(unsigned key, unsigned index, unsigned k) {
  return compute_hash((index * 8 + k) * 0x9E3779B1u + key);
}

struct ComputeInputs {
  unsigned long long a, b, c;
};

// An integer of one of several shapes: carries, borrows and edges are rare among random words.
template <class Word>
GPUREADY_HOST_DEVICE constexpr Word compute_shape_int(Word random, unsigned form) {
  constexpr unsigned kBits = sizeof(Word) * 8;
  const unsigned n = form >> 4 & (kBits - 1);
  switch (form & 15) {
    case 8:
      return random & 0xFF;
    case 9:
      return static_cast<Word>(~(random & 0xFF));
    case 10:
      return static_cast<Word>(Word{1} << n);
    case 11:
      return static_cast<Word>((Word{1} << n) - 1);
    case 12:
      return static_cast<Word>(random & Word{1} ? ~Word{0} / 3 : ~Word{0} / 3 * 2);
    case 13:
      return static_cast<Word>((Word{1} << (kBits - 1)) - (n & 1));
    case 14:
      return static_cast<Word>(Word{0} - (n & 1));
    case 15:
      return static_cast<Word>(random >> n);
    default:
      return random;
  }
}

// A floating-point number of kExponent and kFraction bits in one of several shapes, chosen by
// `form` (10 bits): near one, such that sums and products are ties, subnormal, near overflow, all
// ones, any bits, or a special value.
template <unsigned kExponent, unsigned kFraction>
GPUREADY_HOST_DEVICE constexpr unsigned long long compute_shape_float(unsigned long long random,
                                                                      unsigned form) {
  using u64 = unsigned long long;
  constexpr u64 kOnes = (u64{1} << kFraction) - 1;
  constexpr u64 kMaxExponent = (u64{1} << kExponent) - 1;  // of infinities and NaNs
  constexpr u64 kBias = kMaxExponent / 2;
  const u64 sign = random >> (kExponent + kFraction) & 1;
  const unsigned e = form >> 4 & 63;
  u64 exponent = random >> kFraction & kMaxExponent, fraction = random & kOnes;
  switch (form & 15) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:  // near one
      exponent = kBias - 8 + (e & 15);
      break;
    case 5:  // few bits, half a unit in the last place of numbers near one
      exponent = kBias - kFraction - 5 + (e & 7);
      fraction &= kOnes ^ kOnes >> 2;
      break;
    case 6:  // few bits: exact and halfway products
      exponent = kBias - 2 + (e & 3);
      fraction &= kOnes ^ kOnes >> 3;
      break;
    case 7:  // subnormal
      exponent = 0;
      fraction >>= e & 7;
      break;
    case 8:  // small
      exponent = e & (kExponent < 8 ? 3 : 63);
      break;
    case 9:  // large
      exponent = kMaxExponent - 1 - (e & 7);
      break;
    case 10:  // carries through all of the fraction
      exponent = kBias - 2 + (e & 3);
      fraction |= kOnes ^ 7;
      break;
    case 15:
      switch (e & 7) {
        case 0:  // zero
          exponent = 0, fraction = 0;
          break;
        case 1:  // infinity
          exponent = kMaxExponent, fraction = 0;
          break;
        case 2:  // NaN
          exponent = kMaxExponent, fraction |= 1;
          break;
        case 3:  // the least and the largest subnormal
          exponent = 0, fraction = e & 8 ? 1 : kOnes;
          break;
        case 4:  // the least normal
          exponent = 1, fraction = 0;
          break;
        case 5:  // the largest
          exponent = kMaxExponent - 1, fraction = kOnes;
          break;
        case 6:  // one, one and a bit
          exponent = kBias, fraction = e >> 3 & 1;
          break;
        default:  // two, less a bit
          exponent = kBias, fraction = kOnes - (e >> 3 & 1);
          break;
      }
      break;
    default:  // any bits
      break;
  }
  return sign << (kExponent + kFraction) | exponent << kFraction | fraction;
}

GPUREADY_HOST_DEVICE constexpr unsigned compute_shape_half2(unsigned random, unsigned forms) {
  return static_cast<unsigned>(compute_shape_float<5, 10>(random & 0xFFFF, forms)) |
         static_cast<unsigned>(compute_shape_float<5, 10>(random >> 16, forms >> 10)) << 16;
}

// A normal fp32 number of a middle exponent, in those of the shapes that are: sums and products of
// two are normal too, or 0. What every device must round alike, also where subnormals are flushed.
GPUREADY_HOST_DEVICE constexpr unsigned compute_shape_normal(unsigned random, unsigned form) {
  const unsigned shape = (form & 7) == 7 ? 10 : form & 7;
  return static_cast<unsigned>(compute_shape_float<8, 23>(random, (form & ~15u) | shape));
}

// The fp32 bits of m * 2^scale, m below 2^24, scale from -40 to 0.
GPUREADY_HOST_DEVICE constexpr unsigned compute_scaled(unsigned m, int scale) {
  if (m == 0) return 0;
  const int top = 31 - __builtin_clz(m);
  return static_cast<unsigned>(127 + scale + top) << 23 | ((m << (23 - top)) & 0x7FFFFFu);
}

enum class ComputeInputKind : unsigned {
  i32,
  i64,
  f16,
  f32,
  f64,
  normal,
  word,
  angle,
  exponent,
  positive,
  any,
  tanh
};

// kind is known where this is called: what is not needed falls away.
GPUREADY_HOST_DEVICE constexpr ComputeInputs compute_inputs(ComputeInputKind kind, unsigned key,
                                                            unsigned index) {
  using u64 = unsigned long long;
  const unsigned forms = compute_draw(key, index, 0), x = compute_draw(key, index, 1);
  switch (kind) {
    case ComputeInputKind::i32:
      return {compute_shape_int(x, forms),
              compute_shape_int(compute_draw(key, index, 2), forms >> 9),
              compute_shape_int(compute_draw(key, index, 3), forms >> 18)};
    case ComputeInputKind::f32:
      return {compute_shape_float<8, 23>(x, forms),
              compute_shape_float<8, 23>(compute_draw(key, index, 2), forms >> 10),
              compute_shape_float<8, 23>(compute_draw(key, index, 3), forms >> 20)};
    case ComputeInputKind::normal:
      return {compute_shape_normal(x, forms),
              compute_shape_normal(compute_draw(key, index, 2), forms >> 10), 0};
    case ComputeInputKind::f16:
      return {compute_shape_half2(x, forms),
              compute_shape_half2(compute_draw(key, index, 2), compute_draw(key, index, 4)),
              compute_shape_half2(compute_draw(key, index, 3), compute_draw(key, index, 5))};
    case ComputeInputKind::i64:
    case ComputeInputKind::f64: {
      const u64 a = u64{compute_draw(key, index, 2)} << 32 | x;
      const u64 b = u64{compute_draw(key, index, 4)} << 32 | compute_draw(key, index, 3);
      const u64 c = u64{compute_draw(key, index, 6)} << 32 | compute_draw(key, index, 5);
      if (kind == ComputeInputKind::i64)
        return {compute_shape_int(a, forms), compute_shape_int(b, forms >> 10),
                compute_shape_int(c, forms >> 20)};
      return {compute_shape_float<11, 52>(a, forms), compute_shape_float<11, 52>(b, forms >> 10),
              compute_shape_float<11, 52>(c, forms >> 20)};
    }
    case ComputeInputKind::word:
      return {x, 0, 0};
    default:
      break;
  }
  // Special functions: mostly where their error is bounded and not trivial, one in 16 any shape.
  if ((forms & 15) == 15 || kind == ComputeInputKind::any)
    return {compute_shape_float<8, 23>(x, forms >> 4), 0, 0};
  const unsigned sign = x & 0x80000000u, shift = forms >> 4 & 7 ? 0 : forms >> 7 & 15;
  switch (kind) {
    case ComputeInputKind::angle:  // to 2 pi, in steps of 2^-21
      return {sign | compute_scaled((x & 0xFFFFFFu) % 13176795u >> shift, -21), 0, 0};
    case ComputeInputKind::exponent:  // to 128, in steps of 2^-17
      return {sign | compute_scaled((x & 0xFFFFFFu) >> shift, -17), 0, 0};
    case ComputeInputKind::tanh:  // to 8, in steps of 2^-21
      return {sign | compute_scaled((x & 0xFFFFFFu) >> shift, -21), 0, 0};
    default:  // positive: half of them around one
      return {forms & 16 ? x & 0x7FFFFFFFu : (x & 0x00FFFFFFu) + 0x3F000000u, 0, 0};
  }
}

// NaNs are one class.
inline constexpr unsigned kComputeNan16 = 0x7E00, kComputeNan32 = 0x7FC00000u;
inline constexpr unsigned long long kComputeNan64 = 0x7FF8000000000000ull;
GPUREADY_HOST_DEVICE constexpr unsigned compute_canonical16(unsigned bits) {
  return (bits & 0x7FFFu) > 0x7C00u ? kComputeNan16 : bits;
}
GPUREADY_HOST_DEVICE constexpr unsigned compute_canonical32(unsigned bits) {
  return (bits & 0x7FFFFFFFu) > 0x7F800000u ? kComputeNan32 : bits;
}
GPUREADY_HOST_DEVICE constexpr unsigned long long compute_canonical64(unsigned long long bits) {
  return (bits & ~0ull >> 1) > 0x7FF0000000000000ull ? kComputeNan64 : bits;
}

// Conversions to integers are defined where the integer can hold the value; larger ones are made
// small first by clearing the exponent's top bit.
GPUREADY_HOST_DEVICE constexpr unsigned compute_fits_int32(unsigned bits) {
  return (bits >> 23 & 0xFF) > 127 + 30 ? bits & ~0x40000000u : bits;
}
GPUREADY_HOST_DEVICE constexpr unsigned long long compute_fits_int64(unsigned long long bits) {
  return (bits >> 52 & 0x7FF) > 1023 + 62 ? bits & ~0x4000000000000000ull : bits;
}
// Divisors: never 0, and never -1 (whose quotient of the least integer is undefined).
GPUREADY_HOST_DEVICE constexpr unsigned long long compute_divisor(unsigned long long b) {
  return b == 0 ? 7 : b;
}
GPUREADY_HOST_DEVICE constexpr int compute_signed_divisor(unsigned b) {
  return b + 1 < 2 ? 7 : static_cast<int>(b);
}

// The shuffle of the 32 lanes that hold 32 neighbouring indices: four kinds, several distances.
enum class ComputeShuffle : unsigned { any, up, down, butterfly };
GPUREADY_HOST_DEVICE constexpr ComputeShuffle compute_shuffle_kind(unsigned index) {
  return static_cast<ComputeShuffle>(index >> 5 & 3);
}
GPUREADY_HOST_DEVICE constexpr unsigned compute_shuffle_distance(unsigned index) {
  return 1 + (index >> 7 & 15);
}
// The lane that lane `index % 32` gets its value from; its own where up and down lead outside.
GPUREADY_HOST_DEVICE constexpr unsigned compute_shuffle_source(unsigned index) {
  const unsigned lane = index & 31, distance = compute_shuffle_distance(index);
  switch (compute_shuffle_kind(index)) {
    case ComputeShuffle::up:
      return lane < distance ? lane : lane - distance;
    case ComputeShuffle::down:
      return lane + distance > 31 ? lane : lane + distance;
    case ComputeShuffle::butterfly:
      return lane ^ distance;
    default:
      return (lane * 5 + 3) & 31;
  }
}

// Values that all depend on each other, so that all are held at once.
inline constexpr unsigned kComputeRegisterRounds = 8;
template <unsigned kCount>
GPUREADY_HOST_DEVICE constexpr void compute_register_round(unsigned (&values)[kCount]) {
#if defined(__clang__)
#pragma unroll
#endif
  for (unsigned r = 0; r < kCount; ++r)
    values[r] = (values[r] << 5 | values[r] >> 27) ^ values[(r + 1) % kCount];
}

}  // namespace gpuready
