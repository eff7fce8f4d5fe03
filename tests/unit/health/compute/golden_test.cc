// The reference values of the compute test, and what its device code is made of.
#include "kernels/cpu/compute_golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "health/compute/reference.h"
#include "health/compute/special.h"
#include "kernel_abi/compute_half.h"
#include "kernels/compute_kernel.h"

namespace gpuready {
namespace {

// An independent way to round to fp16: the nearest of all its finite values, found by search.
unsigned nearest_half(double value) {
  static const auto kValues = [] {
    std::vector<double> values;  // of the bit patterns 0 to 0x7BFF, which ascend
    for (unsigned bits = 0; bits < kHalfInfinity; ++bits)
      values.push_back(std::ldexp(static_cast<double>(half_integer(bits)), -24));
    return values;
  }();
  const unsigned sign = std::signbit(value) ? 0x8000 : 0;
  value = std::fabs(value);
  if (std::isnan(value)) return kComputeNan16;
  if (value >= 65520) return sign | kHalfInfinity;
  const auto above = std::lower_bound(kValues.begin(), kValues.end(), value);
  auto bits = static_cast<unsigned>(above - kValues.begin());
  if (above == kValues.end()) return sign | (kHalfInfinity - 1);
  if (bits > 0) {
    const double up = *above - value, down = value - kValues[bits - 1];
    if (down < up || (down == up && bits % 2 == 1)) --bits;
  }
  return sign | bits;
}
double value_of(unsigned half) { return std::bit_cast<float>(float_bits_from_half(half)); }

TEST(ComputeHalf, AddAndMultiplyAreTheNearestValueOfTheExactOne) {
  const unsigned key = compute_key(7, kOpAddF16);
  for (unsigned i = 0; i < 40'000; ++i) {
    const ComputeInputs in = compute_inputs(ComputeInputKind::f16, key, i);
    const unsigned a = in.a & 0xFFFF, b = in.b & 0xFFFF;
    // Sums and products of two fp16 numbers are exact in fp64.
    ASSERT_EQ(half_add(a, b), nearest_half(value_of(a) + value_of(b))) << a << " + " << b;
    ASSERT_EQ(half_multiply(a, b), nearest_half(value_of(a) * value_of(b))) << a << " * " << b;
  }
}

TEST(ComputeHalf, FmaRoundsOnce) {
  const unsigned key = compute_key(7, kOpFmaF16);
  unsigned differs = 0;
  for (unsigned i = 0; i < 40'000; ++i) {
    const ComputeInputs in = compute_inputs(ComputeInputKind::f16, key, i);
    const unsigned a = in.a & 0xFFFF, b = in.b & 0xFFFF, c = in.c & 0xFFFF;
    const double product = value_of(a) * value_of(b), sum = product + value_of(c);
    const unsigned result = half_fma(a, b, c);
    differs += result != half_add(half_multiply(a, b), c);
    // Where the sum is exact in fp64, too, it tells the answer.
    const bool exact = sum - product == value_of(c) && sum - value_of(c) == product;
    if (exact || std::isnan(sum) || std::isinf(sum)) {
      ASSERT_EQ(result, nearest_half(sum)) << a << " * " << b << " + " << c;
    }
  }
  EXPECT_GT(differs, 400u) << "inputs must tell an fma from two roundings";
}

TEST(ComputeHalf, EveryHalfSurvivesTheWayToFloatAndBack) {
  for (unsigned bits = 0; bits < 0x10000; ++bits)
    ASSERT_EQ(half_from_float_bits(float_bits_from_half(bits)), compute_canonical16(bits));
}

TEST(ComputeInputs, ReachTheHardCases) {
  const unsigned key = compute_key(1, kOpFmaF32);
  std::map<int, unsigned> classes;
  unsigned zero_negative = 0, add_ties = 0, multiply_ties = 0, two_roundings = 0, overflows = 0;
  for (unsigned i = 0; i < kComputeCount; ++i) {
    const ComputeInputs in = compute_inputs(ComputeInputKind::f32, key, i);
    const auto real = [](unsigned long long bits) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    };
    const float a = real(in.a), b = real(in.b), c = real(in.c);
    ++classes[std::fpclassify(a)];
    zero_negative += in.a == 0x80000000u;
    if (!std::isnormal(a) || !std::isnormal(b)) continue;
    // A tie: the exact value lies in the middle between two neighbours.
    const auto tie = [](double exact) {
      const float rounded = static_cast<float>(exact);
      if (!std::isnormal(rounded) || exact == rounded) return false;
      const float other = std::nextafter(rounded, exact > rounded ? INFINITY : -INFINITY);
      return std::fabs(exact - rounded) == std::fabs(other - exact);
    };
    const double sum = double{a} + b;
    add_ties += sum - a == b && tie(sum);
    multiply_ties += tie(double{a} * b);
    two_roundings += std::isnormal(c) && std::fma(a, b, c) != a * b + c;
    overflows += std::isinf(a * b);
  }
  EXPECT_GT(classes[FP_NAN], 100u);
  EXPECT_GT(classes[FP_INFINITE], 100u);
  EXPECT_GT(classes[FP_SUBNORMAL], 1000u);
  EXPECT_GT(classes[FP_ZERO], 100u);
  EXPECT_GT(zero_negative, 50u);
  EXPECT_GT(add_ties, 50u);
  EXPECT_GT(multiply_ties, 50u);
  EXPECT_GT(two_roundings, 500u);
  EXPECT_GT(overflows, 100u);
}

// The same on every host: a compiler or processor that computes otherwise is found here.
TEST(ComputeGolden, IsTheSameOnEveryHost) {
  std::uint64_t all = 0;
  for (unsigned op = 0; op < kComputeExactOps; ++op) {
    const ComputeWork work{1, 0, kComputeExactOps, kComputeThreads, 2048};
    all = mix_word(all + checksum_of(golden_results(work, op)), 0);
  }
  EXPECT_EQ(all, 0x8b4c8bb8fcd363a3ull);
}

TEST(ComputeGolden, EachResultChangesTheChecksum) {
  const ComputeWork work{3, 0, kComputeExactOps, kComputeThreads, 2048};
  auto results = golden_results(work, kOpMadI32);
  const auto before = checksum_of(results);
  for (std::size_t i = 0; i < results.size(); i += 37) {
    results[i] ^= 1ull << i % 32;
    EXPECT_NE(checksum_of(results), before);
    results[i] ^= 1ull << i % 32;
  }
  std::swap(results[10], results[11]);
  EXPECT_NE(checksum_of(results), before) << "results at each other's place";
}

TEST(ComputeGolden, TheHostsArithmeticServes) { EXPECT_TRUE(host_arithmetic_is_ieee()); }

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(SpecialFunctions, PublishedExactPointsAreExact) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  struct Point {
    unsigned op;
    float x, result;
  };
  const Point points[] = {
      {kOpSin, -0.0f, -0.0f},
      {kOpSin, infinity, nan},
      {kOpCos, 0, 1},
      {kOpEx2, -infinity, 0},
      {kOpEx2, -0.0f, 1},
      {kOpLg2, 0, -infinity},
      {kOpLg2, -1, nan},
      {kOpLg2, infinity, infinity},
      {kOpRcp, -0.0f, -infinity},
      {kOpRcp, -infinity, -0.0f},
      {kOpRsqrt, 0, infinity},
      {kOpRsqrt, infinity, 0},
      {kOpSqrtApprox, -0.0f, -0.0f},
      {kOpSqrtApprox, -infinity, nan},
      {kOpTanh, infinity, 1},
      {kOpTanh, -0.0f, -0.0f},
      {kOpRcp, nan, nan},
  };
  for (const Point& point : points) {
    EXPECT_EQ(special_function_error(point.op, bits(point.x), bits(point.result)), 0.0)
        << compute_op(point.op).name << " of " << point.x;
    EXPECT_GT(special_function_error(point.op, bits(point.x), bits(0.5f)), 1.0)
        << compute_op(point.op).name << " of " << point.x;
  }
}

TEST(SpecialFunctions, AnErrorJustBeyondTheBoundIsSeen) {
  const auto error = [](unsigned op, float x, double result) {
    return *special_function_error(op, bits(x), bits(static_cast<float>(result)));
  };
  EXPECT_LT(error(kOpSin, 1, std::sin(1.0) + std::exp2(-21.6)), 1);
  EXPECT_GT(error(kOpSin, 1, std::sin(1.0) + std::exp2(-21.2)), 1);
  EXPECT_LT(error(kOpSin, 5, std::sin(5.0) + std::exp2(-20.6)), 1);
  EXPECT_GT(error(kOpSin, 5, std::sin(5.0) + std::exp2(-20.3)), 1);
  EXPECT_LT(error(kOpCos, 100, std::cos(100.0) + std::exp2(-14.8)), 1);
  EXPECT_GT(error(kOpCos, 100, std::cos(100.0) + std::exp2(-14.6)), 1);
  EXPECT_LE(error(kOpEx2, 0.5f, std::exp2(0.5) + 2 * std::exp2(-23)), 1);
  EXPECT_GT(error(kOpEx2, 0.5f, std::exp2(0.5) + 3 * std::exp2(-23)), 1);
  EXPECT_LT(error(kOpLg2, 1.5f, std::log2(1.5) + std::exp2(-22.1)), 1);
  EXPECT_GT(error(kOpLg2, 1.5f, std::log2(1.5) + std::exp2(-21.8)), 1);
  EXPECT_LT(error(kOpLg2, 3e30f, std::log2(3e30) * (1 + std::exp2(-22.4))), 1);
  EXPECT_GT(error(kOpRcp, 3, 1.0 / 3 + 2 * std::exp2(-25)), 1);
  EXPECT_GT(error(kOpRsqrt, 3, 1 / std::sqrt(3.0) * (1 + std::exp2(-22.4))), 1);
  EXPECT_GT(error(kOpSqrtApprox, 3, std::sqrt(3.0) * (1 + std::exp2(-22))), 1);
  EXPECT_LT(error(kOpTanh, 1, std::tanh(1.0) * (1 + std::exp2(-11.2))), 1);
  EXPECT_GT(error(kOpTanh, 1, std::tanh(1.0) * (1 + std::exp2(-10.8))), 1);
  EXPECT_GT(error(kOpTanh, 1, NAN), 1);
  EXPECT_FALSE(special_function_error(kOpSin, bits(1000), bits(7))) << "nothing is promised there";
}

TEST(SpecialFunctions, CorrectlyRoundedValuesAreWithinAllBounds) {
  for (unsigned op = kComputeExactOps; op < kComputeOps; ++op) {
    const ComputeWork work{5, 0, 0, 8 * kComputeThreads, 2048};
    const auto golden = golden_results(work, op);
    for (unsigned i = 0; i < golden.size(); ++i) {
      const auto x = static_cast<std::uint32_t>(
          compute_inputs(compute_op(op).inputs, compute_key(5, op), i).a);
      const auto error = special_function_error(op, x, static_cast<std::uint32_t>(golden[i]));
      ASSERT_LE(error.value_or(0), 1) << compute_op(op).name << " of " << std::bit_cast<float>(x);
    }
  }
}

// The floating-point instructions of a PTX text ("fma.rn.f32"), each with how often it stands
// there.
std::map<std::string, int> arithmetic_of(std::string_view text) {
  constexpr std::string_view kNames[] = {"add.", "sub.", "mul.",  "fma.",
                                         "mad.", "div.", "sqrt.", "rcp."};
  std::map<std::string, int> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    line = line.substr(0, line.find_first_of(" \t"));
    const bool named = std::any_of(std::begin(kNames), std::end(kNames),
                                   [&](auto name) { return line.starts_with(name); });
    if (named && line.find(".f") != std::string_view::npos) ++found[std::string(line)];
  }
  return found;
}

// Each rounds to nearest and none flushes subnormals or is left to the assembler's choice.
TEST(ComputePtx, ArithmeticIsRoundedToNearestAndNothingIsFlushed) {
  ASSERT_EQ(kCompute.cuda.size(), 4u);
  for (const KernelImage& image : kCompute.cuda) {
    const auto unpacked = unpack_image(image.begin, image.end);
    ASSERT_TRUE(unpacked);
    const std::string_view text = *unpacked;
    EXPECT_EQ(text.find(".ftz"), std::string_view::npos) << image.compute_capability;
    auto found = arithmetic_of(text);
    for (const auto& [name, count] : found)
      EXPECT_TRUE(name.find(".rn.") != name.npos || name.find(".approx.") != name.npos) << name;
    for (const char* name : {"add.rn.f32", "mul.rn.f32", "fma.rn.f32", "div.rn.f32", "sqrt.rn.f32",
                             "add.rn.f64", "mul.rn.f64", "fma.rn.f64", "div.rn.f64", "sqrt.rn.f64"})
      EXPECT_EQ(found[name], 1) << name << " for sm_" << image.compute_capability;
    EXPECT_EQ(found["fma.rn.f16x2"], image.compute_capability >= 53 ? 1 : 0);
    const auto has = [&](std::string_view name) { return text.find(name) != text.npos; };
    EXPECT_EQ(has("tanh.approx.f32"), image.compute_capability >= 75);
    EXPECT_EQ(has("dp4a.s32.s32"), image.compute_capability >= 61);
  }
}

}  // namespace
}  // namespace gpuready
