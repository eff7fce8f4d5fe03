// Compiled with -ffp-contract=off (cmake/Options.cmake): a * b + c is two roundings, and
// std::fma one.
#include "kernels/cpu/compute_golden.h"

#include <array>
#include <bit>
#include <cfenv>
#include <cfloat>
#include <cmath>
#include <limits>

#include "kernel_abi/compute_half.h"

#if defined(__FAST_MATH__)
#error "the reference must not be compiled with -ffast-math"
#endif
static_assert(FLT_EVAL_METHOD == 0, "fp32 must be computed in fp32 (no x87)");
static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

namespace gpuready {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

float as_float(u64 bits) { return std::bit_cast<float>(static_cast<u32>(bits)); }
double as_double(u64 bits) { return std::bit_cast<double>(bits); }
u64 bits_of(float value) { return compute_canonical32(std::bit_cast<u32>(value)); }
u64 bits_of(double value) { return compute_canonical64(std::bit_cast<u64>(value)); }

template <class Real>
u64 compare(Real a, Real b) {
  return (a < b ? 1u : 0u) | (a == b ? 2u : 0u) | (a > b ? 4u : 0u);
}
u32 reverse_bits(u32 a) {
  u32 result = 0;
  for (int bit = 0; bit < 32; ++bit) result |= (a >> bit & 1) << (31 - bit);
  return result;
}
// PTX prmt: each four bits of the selector choose one of eight bytes; the highest of the four
// spreads that byte's sign instead.
u32 byte_permute(u32 a, u32 b, u32 selector) {
  const u64 bytes = u64{b} << 32 | a;
  u32 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 choice = selector >> 4 * i & 15;
    u32 byte = bytes >> (choice & 7) * 8 & 0xFF;
    if (choice & 8) byte = byte & 0x80 ? 0xFF : 0;
    result |= byte << 8 * i;
  }
  return result;
}
u32 dot_product_4(u32 a, u32 b, u32 c) {
  for (int shift = 0; shift < 32; shift += 8) {
    const int x = static_cast<std::int8_t>(a >> shift), y = static_cast<std::int8_t>(b >> shift);
    c += static_cast<u32>(x * y);
  }
  return c;
}
u64 half_pairs(unsigned (*apply)(unsigned, unsigned, unsigned), const ComputeInputs& in) {
  const auto one = [&](int shift) {
    return compute_canonical16(
        apply(in.a >> shift & 0xFFFF, in.b >> shift & 0xFFFF, in.c >> shift & 0xFFFF));
  };
  return one(0) | one(16) << 16;
}
u64 rounded(double value) { return bits_of(static_cast<float>(value)); }

// `op` is a constant where this is inlined.
[[gnu::always_inline]] inline u64 apply(unsigned op, const ComputeInputs& in) {
  const u32 a = static_cast<u32>(in.a), b = static_cast<u32>(in.b), c = static_cast<u32>(in.c);
  const auto sa = static_cast<std::int32_t>(a), sb = static_cast<std::int32_t>(b);
  const float fa = as_float(in.a), fb = as_float(in.b);
  const double da = as_double(in.a), db = as_double(in.b);
  switch (op) {
    case kOpAddI32:
      return a + b;
    case kOpSubI32:
      return a - b;
    case kOpMulLoI32:
      return a * b;
    case kOpMulHiU32:
      return u64{a} * b >> 32;
    case kOpMulHiS32:
      return static_cast<u32>(std::int64_t{sa} * sb >> 32);
    case kOpMadI32:
      return a * b + c;
    case kOpLogicI32:
      return ((a & b) ^ (b | c)) + (~a & c);
    case kOpShlI32:
      return a << (b & 31);
    case kOpShrU32:
      return a >> (b & 31);
    case kOpShrS32:
      return static_cast<u32>(sa >> (b & 31));
    case kOpFunnelI32:
      return (u64{b} << 32 | a) << (c & 31) >> 32;
    case kOpPopcI32:
      return static_cast<u64>(std::popcount(a));
    case kOpClzI32:
      return static_cast<u64>(std::countl_zero(a));
    case kOpBrevI32:
      return reverse_bits(a);
    case kOpPermI32:
      return byte_permute(a, b, c & 0xFFFF);
    case kOpDp4aI32:
      return dot_product_4(a, b, c);
    case kOpDivU32:
      return a / static_cast<u32>(compute_divisor(b));
    case kOpRemU32:
      return a % static_cast<u32>(compute_divisor(b));
    case kOpDivS32:
      return static_cast<u32>(sa / compute_signed_divisor(b));
    case kOpMinS32:
      return static_cast<u32>(sa < sb ? sa : sb);
    case kOpMaxU32:
      return a > b ? a : b;
    case kOpAddI64:
      return in.a + in.b;
    case kOpMulLoI64:
      return in.a * in.b;
    case kOpMulHiU64:
      return static_cast<u64>(Uint128{in.a} * in.b >> 64);
    case kOpMadWideI64:
      return u64{a} * b + in.c;
    case kOpMadI64:
      return in.a * in.b + in.c;
    case kOpShlI64:
      return in.a << (in.b & 63);
    case kOpShrU64:
      return in.a >> (in.b & 63);
    case kOpShrS64:
      return static_cast<u64>(static_cast<std::int64_t>(in.a) >> (in.b & 63));
    case kOpDivU64:
      return in.a / compute_divisor(in.b);
    case kOpRemU64:
      return in.a % compute_divisor(in.b);
    case kOpAddF32:
    case kOpAddNormalF32:
      return bits_of(fa + fb);
    case kOpMulF32:
    case kOpMulNormalF32:
      return bits_of(fa * fb);
    case kOpFmaF32:
      return bits_of(std::fma(fa, fb, as_float(in.c)));
    case kOpDivF32:
      return bits_of(fa / fb);
    case kOpSqrtF32:
      return bits_of(std::sqrt(fa));
    case kOpCompareF32:
      return compare(fa, fb);
    case kOpFromIntF32:
      return bits_of(static_cast<float>(sa));
    case kOpToIntF32:
      return static_cast<u32>(static_cast<std::int32_t>(as_float(compute_fits_int32(a))));
    case kOpAddF64:
      return bits_of(da + db);
    case kOpMulF64:
      return bits_of(da * db);
    case kOpFmaF64:
      return bits_of(std::fma(da, db, as_double(in.c)));
    case kOpDivF64:
      return bits_of(da / db);
    case kOpSqrtF64:
      return bits_of(std::sqrt(da));
    case kOpCompareF64:
      return compare(da, db);
    case kOpFromIntF64:
      return bits_of(static_cast<double>(static_cast<std::int64_t>(in.a)));
    case kOpToIntF64:
      return static_cast<u64>(static_cast<std::int64_t>(as_double(compute_fits_int64(in.a))));
    case kOpNarrowF64:
      return bits_of(static_cast<float>(da));
    case kOpWidenF32:
      return bits_of(static_cast<double>(fa));
    case kOpNarrowF32:
      return half_from_float_bits(a);
    case kOpWidenF16:
      return float_bits_from_half(a & 0xFFFF);
    case kOpAddF16:
      return half_pairs([](unsigned x, unsigned y, unsigned) { return half_add(x, y); }, in);
    case kOpMulF16:
      return half_pairs([](unsigned x, unsigned y, unsigned) { return half_multiply(x, y); }, in);
    case kOpFmaF16:
      return half_pairs(half_fma, in);
    case kOpSin:
      return rounded(std::sin(double{fa}));
    case kOpCos:
      return rounded(std::cos(double{fa}));
    case kOpEx2:
      return rounded(std::exp2(double{fa}));
    case kOpLg2:
      return rounded(std::log2(double{fa}));
    case kOpRcp:
      return bits_of(1.0f / fa);
    case kOpRsqrt:
      return rounded(1.0 / std::sqrt(double{fa}));
    case kOpSqrtApprox:
      return bits_of(std::sqrt(fa));
    case kOpTanh:
      return rounded(std::tanh(double{fa}));
    default:  // shared memory: what was written
      return in.a;
  }
}

constexpr std::array<ComputeOpInfo, kComputeOps> kOps = {{
#define GPUREADY_X(id, name, inputs, result) \
  {name, ComputeInputKind::inputs, ComputeResult::result},
    GPUREADY_COMPUTE_EXACT_OPS(GPUREADY_X) GPUREADY_COMPUTE_SPECIAL_OPS(GPUREADY_X)
#undef GPUREADY_X
}};

using Results = void (*)(u64 seed, unsigned first_index, unsigned count, u64* results);

template <unsigned op>
void independent(u64 seed, unsigned first_index, unsigned count, u64* results) {
  const unsigned key = compute_key(seed, op);
  for (unsigned i = 0; i < count; ++i)
    results[i] = apply(op, compute_inputs(kOps[op].inputs, key, first_index + i));
}
void shuffles(u64 seed, unsigned first_index, unsigned count, u64* results) {
  const unsigned key = compute_key(seed, kOpShuffle);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned index = first_index + i;
    results[i] = compute_draw(key, index - index % 32 + compute_shuffle_source(index), 1);
  }
}
void votes(u64 seed, unsigned first_index, unsigned count, u64* results) {
  const unsigned key = compute_key(seed, kOpVote);
  for (unsigned i = 0; i < count; i += 32) {
    u32 ballot = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
      ballot |= (compute_draw(key, first_index + i + lane, 1) & 1) << lane;
    for (unsigned lane = 0; lane < 32; ++lane) results[i + lane] = ballot;
  }
}
void registers(u64 seed, unsigned first_index, unsigned count, u64* results) {
  const unsigned key = compute_key(seed, kOpRegisters);
  for (unsigned i = 0; i < count; i += kComputeRegisters) {
    unsigned values[kComputeRegisters];
    for (unsigned r = 0; r < kComputeRegisters; ++r)
      values[r] = compute_draw(key, first_index + i + r, 1);
    for (unsigned round = 0; round < kComputeRegisterRounds; ++round)
      compute_register_round(values);
    for (unsigned r = 0; r < kComputeRegisters; ++r) results[i + r] = values[r];
  }
}

constexpr std::array<Results, kComputeOps> kResults = [] {
  std::array<Results, kComputeOps> table = {
#define GPUREADY_X(id, name, inputs, result) independent<kOp##id>,
      GPUREADY_COMPUTE_EXACT_OPS(GPUREADY_X) GPUREADY_COMPUTE_SPECIAL_OPS(GPUREADY_X)
#undef GPUREADY_X
  };
  table[kOpShuffle] = shuffles;
  table[kOpVote] = votes;
  table[kOpRegisters] = registers;
  return table;
}();

void atomics(unsigned op, u64 seed, unsigned first_index, unsigned count, u64* results) {
  const unsigned key = compute_key(seed, op);
  for (unsigned i = 0; i < kComputeAtomics * kComputeCells; ++i)
    results[i] = i / kComputeCells == 2 ? ~u32{0} : 0;
  for (unsigned i = 0; i < compute_atomic_inputs(count); ++i) {
    const u64 value = compute_draw(key, first_index + i, 1);
    u64* cell = results + i % kComputeCells;
    cell[0] = static_cast<u32>(cell[0] + value);
    cell[kComputeCells] ^= value;
    cell[2 * kComputeCells] = std::min(cell[2 * kComputeCells], value);
    cell[3 * kComputeCells] = std::max(cell[3 * kComputeCells], value);
  }
}

}  // namespace

const ComputeOpInfo& compute_op(unsigned op) { return kOps[op]; }

unsigned compute_result_bits(ComputeResult result) {
  switch (result) {
    case ComputeResult::i64:
    case ComputeResult::f64:
      return 64;
    case ComputeResult::f16:
      return 16;
    default:
      return 32;
  }
}

std::uint64_t compute_nan(ComputeResult result) {
  switch (result) {
    case ComputeResult::f16:
      return kComputeNan16;
    case ComputeResult::f16x2:
      return kComputeNan16 | kComputeNan16 << 16;
    case ComputeResult::f32:
      return kComputeNan32;
    case ComputeResult::f64:
      return kComputeNan64;
    default:
      return 0;
  }
}

void compute_golden_results(unsigned op, u64 seed, unsigned first_index, unsigned count,
                            u64* results) {
  kResults[op](seed, first_index, count, results);
}

void compute_golden_launch(unsigned op, u64 seed, unsigned first_index, unsigned count,
                           unsigned shared_words, u64* results) {
  if (op == kOpGlobalAtomics || op == kOpSharedAtomics)
    atomics(op, seed, first_index, count, results);
  else
    compute_golden_results(op, seed, first_index, compute_results(op, count, shared_words),
                           results);
}

bool host_arithmetic_is_ieee() {
  volatile float least = std::numeric_limits<float>::denorm_min(), one = 1;
  volatile double least64 = std::numeric_limits<double>::denorm_min(), one64 = 1;
  const bool subnormals = least * one != 0 && least64 * one64 != 0;
  return subnormals && std::fegetround() == FE_TONEAREST;
}

}  // namespace gpuready
